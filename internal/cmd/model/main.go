// Command model plays a script as the Gemini API does, on loopback, for those who write a
// client and have no key:
//
//	go run ./internal/cmd/model SCRIPT     # prints the two variables to set, and serves until Ctrl-C
//
// The format of a script is that of package [modelserver]. Each request that the script
// has no answer for is told on standard error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/agentls/agentls/internal/modelserver"
)

func main() {
	address := flag.String("listen", "127.0.0.1:0", "the address; port 0 is a free one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *address, flag.Args(), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "model:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string, args []string, out, errs io.Writer) error {
	if len(args) != 1 {
		return errors.New("name one script, as in go run ./internal/cmd/model script.txt")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	script, err := modelserver.Parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "export GEMINI_API_KEY=any GOOGLE_GEMINI_BASE_URL=http://%s\n", listener.Addr())
	model := modelserver.New(modelserver.Config{Script: script})
	var mu sync.Mutex
	told := 0 // of the failures
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		model.ServeHTTP(w, q)
		mu.Lock()
		defer mu.Unlock()
		for _, failure := range model.Failures()[told:] {
			told++
			fmt.Fprintln(errs, failure)
		}
	})}
	ended := make(chan error)
	context.AfterFunc(ctx, func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		err := server.Shutdown(late)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close() // what is still being answered is cut
		}
		ended <- err
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}
