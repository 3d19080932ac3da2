package servertest

import (
	"fmt"
	"strings"
)

// Case is what a hostile client sends on a connection that is initialized.
type Case struct {
	Name  string // with the ids of spec 12.1 that it tests
	Bytes string

	// Want are the answers that come before the next message is served, in any
	// order. All others are wrong.
	Want []Answer

	// Ends: the server ends the connection, cleanly, with exit code 1, instead
	// of serving the next message.
	Ends bool
}

// Answer is what a message is answered with.
type Answer struct {
	ID    string // as it is written in JSON
	Codes []int  // any of them; none: any result or error
}

const (
	parse   = -32700
	invalid = -32600
	unknown = -32601
	params  = -32602
)

// Of returns the cases whose name begins with an id.
func Of(id string) []Case {
	var list []Case
	for _, k := range Hostile() {
		if strings.HasPrefix(k.Name, id+" ") {
			list = append(list, k)
		}
	}
	return list
}

// Hostile returns the table. Its methods are of LSP (textDocument/didChange,
// shutdown) or of nobody, so that it fits any server.
func Hostile() []Case {
	header := func(name, lines string) Case {
		return Case{Name: "REL-05 " + name, Bytes: lines + "\r\n\r\n", Ends: true}
	}
	refused := func(name, body string, codes ...int) Case {
		return Case{Name: name, Bytes: Frame(body), Want: []Answer{{"null", codes}}}
	}
	answered := func(name, id, body string, codes ...int) Case {
		return Case{Name: name, Bytes: Frame(body), Want: []Answer{{id, codes}}}
	}
	ignored := func(name, body string) Case { return Case{Name: name, Bytes: Frame(body)} }
	const ask = `{"jsonrpc":"2.0","id":1,"method":"nobody/knows"}`
	accepted := func(name, head string) Case {
		return Case{Name: "REL-08 " + name, Bytes: head + ask, Want: []Answer{{"1", []int{unknown}}}}
	}

	cases := []Case{
		header("negative length", "Content-Length: -1"),
		header("signed length", "Content-Length: +5"),
		header("hexadecimal length", "Content-Length: 0x10"),
		header("two numbers", "Content-Length: 5 5"),
		header("four gigabytes", "Content-Length: 4294967296"),
		header("length beyond any integer", "Content-Length: 99999999999999999999"),
		header("no number", "Content-Length: "),
		header("two lengths that differ", "Content-Length: 5\r\nContent-Length: 6"),
		header("no length", "X: y"),
		header("no header", ""),
		header("no colon", "Content-Length 5"),
		{Name: "REL-05 empty message", Bytes: Frame(""), Want: []Answer{{"null", []int{parse, invalid}}}},
		{Name: "REL-05 one length twice", Bytes: "Content-Length: 2\r\n" + Frame("{}"),
			Want: []Answer{{"null", []int{parse, invalid}}}},
		{Name: "REL-07 a header without an end", Bytes: strings.Repeat("x", 1<<20), Ends: true},
		{Name: "REL-07 headers without an end", Bytes: strings.Repeat("X: y\r\n", 10_000), Ends: true},

		accepted("lower case", fmt.Sprintf("content-length: %d\r\n\r\n", len(ask))),
		accepted("upper case", fmt.Sprintf("CONTENT-LENGTH: %d\r\n\r\n", len(ask))),
		accepted("no space", fmt.Sprintf("Content-Length:%d\r\n\r\n", len(ask))),
		accepted("line feeds only", fmt.Sprintf("Content-Length: %d\n\n", len(ask))),
		accepted("more headers", fmt.Sprintf("X-One: 1\r\nContent-Length: %d\r\nX-Two: a: b\r\n\r\n", len(ask))),
		accepted("charset=utf8", fmt.Sprintf("Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n", len(ask))),
		accepted("charset=utf-8", fmt.Sprintf("Content-Type: application/vscode-jsonrpc;charset=UTF-8\r\nContent-Length: %d\r\n\r\n", len(ask))),
		{
			Name:  "REL-08 charset=utf-16",
			Bytes: "Content-Length: 4\r\nContent-Type: application/vscode-jsonrpc; charset=utf-16\r\n\r\n{\x00}\x00",
			Want:  []Answer{{"null", []int{parse, invalid}}},
		},
		{
			Name:  "REL-09 many messages in one write",
			Bytes: strings.Repeat(Frame(`{"jsonrpc":"2.0","method":"nobody/listens"}`), 500) + Frame(ask),
			Want:  []Answer{{"1", []int{unknown}}},
		},

		refused("REL-10 truncated", `{"jsonrpc":"2.0","id":1,`, parse, invalid),
		refused("REL-10 not JSON", `hello, world`, parse, invalid),
		refused("REL-10 broken inside", `{"jsonrpc":"2.0","id":1,"method":"nobody/knows","params":{"a":1,,}}`, parse,
			invalid),
		refused("REL-10 two values", `{}{}`, parse, invalid),
		refused("REL-10 white space", "  \r\n ", parse, invalid),
		refused("REL-10 null", `null`, parse, invalid),
		refused("REL-10 a number", `3`, parse, invalid),
		refused("REL-10 a string", `"x"`, parse, invalid),
		refused("REL-10 nested without an end", strings.Repeat("[", 100_000), parse, invalid),
		refused("REL-10 nested deeply", `{"jsonrpc":"2.0","id":1,"method":"nobody/knows","params":`+strings.Repeat("[",
			100_000)+strings.Repeat("]", 100_000)+`}`, parse, invalid),
		refused("REL-10 byte order mark", "\ufeff"+ask, parse, invalid),
		refused("REL-11 empty batch", `[]`, invalid),
		refused("REL-11 batch", `[`+ask+`,`+ask+`]`, invalid),

		answered("REL-12 invalid UTF-8", "1",
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nobody/\xff\xfe\",\"params\":{\"a\":\"\xc3\"}}", unknown),
		answered("REL-12 lone surrogates", "1",
			`{"jsonrpc":"2.0","id":1,"method":"nobody/\ud800","params":{"a":"\udc00"}}`, unknown),
		answered("REL-12 escaped NUL, U+2028", "1",
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nobody/knows\",\"params\":{\"a\":\"\\u0000\u2028\"}}", unknown),
		refused("REL-12 raw NUL", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nobody/\x00\"}", parse, invalid),

		refused("REL-14 fractional id", `{"jsonrpc":"2.0","id":1.5,"method":"nobody/knows"}`, invalid),
		refused("REL-14 id with an exponent", `{"jsonrpc":"2.0","id":1e3,"method":"nobody/knows"}`, invalid),
		refused("REL-14 object as id", `{"jsonrpc":"2.0","id":{},"method":"nobody/knows"}`, invalid),
		refused("REL-14 array as id", `{"jsonrpc":"2.0","id":[1],"method":"nobody/knows"}`, invalid),
		refused("REL-14 true as id", `{"jsonrpc":"2.0","id":true,"method":"nobody/knows"}`, invalid),
		refused("REL-14 null as id", `{"jsonrpc":"2.0","id":null,"method":"nobody/knows"}`, invalid),
		refused("REL-14 id beyond 64 bits", `{"jsonrpc":"2.0","id":18446744073709551617,"method":"nobody/knows"}`,
			invalid),
		refused("REL-14 id longer than 64 KiB", `{"jsonrpc":"2.0","id":"`+strings.Repeat("i", 64<<10)+
			`","method":"nobody/knows"}`, invalid),

		answered("REL-10 no version", "1", `{"id":1,"method":"nobody/knows"}`, invalid),
		answered("REL-10 another version", "1", `{"jsonrpc":"1.0","id":1,"method":"nobody/knows"}`, invalid),
		answered("REL-10 method is no string", "1", `{"jsonrpc":"2.0","id":1,"method":5}`, invalid),
		answered("REL-10 request and answer at once", "1",
			`{"jsonrpc":"2.0","id":1,"method":"nobody/knows","result":1}`, invalid),
		refused("REL-10 neither request nor answer", `{"jsonrpc":"2.0"}`, invalid),
		refused("spec 2.2 repeated id", `{"jsonrpc":"2.0","id":1,"id":2,"method":"nobody/knows"}`, invalid),
		answered("spec 2.2 repeated method", "1",
			`{"jsonrpc":"2.0","id":1,"method":"shutdown","method":"nobody/knows"}`, invalid),
		answered("spec 2.2 repeated params", "1",
			`{"jsonrpc":"2.0","id":1,"method":"nobody/knows","params":{},"params":{}}`, invalid),
		answered("spec 2.2 repeated member in another spelling", "1",
			`{"jsonrpc":"2.0","id":1,"method":"nobody/knows","m\u0065thod":"shutdown"}`, invalid),
		ignored("spec 2.2 request without an id", `{"jsonrpc":"2.0","method":"shutdown"}`),
		answered("spec 2.2 notification with an id", "1",
			`{"jsonrpc":"2.0","id":1,"method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///a","version":1},"contentChanges":[]}}`, invalid),
		answered("spec 2.2 exit with an id", "1", `{"jsonrpc":"2.0","id":1,"method":"exit"}`, invalid),
		answered("REL-02 second initialize", "1",
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}`, invalid),

		ignored("REL-16 answer to nothing", `{"jsonrpc":"2.0","id":9007199254740993,"result":null}`),
		ignored("REL-16 refusal of nothing", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}`),
		ignored("REL-16 answer with a string id", `{"jsonrpc":"2.0","id":"x","result":{}}`),
		ignored("REL-17 cancel of an unknown id", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":4711}}`),
		ignored("REL-17 cancel of a wrong type", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":{}}}`),
		ignored("REL-17 cancel of nothing", `{"jsonrpc":"2.0","method":"$/cancelRequest"}`),
		ignored("REL-17 cancel in an array", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":[1]}`),
		answered("REL-17 cancel with an id", "1",
			`{"jsonrpc":"2.0","id":1,"method":"$/cancelRequest","params":{"id":1}}`, invalid),
		answered("REL-18 unknown method", "1", ask, unknown),
		answered("REL-18 unknown $/ method", "1", `{"jsonrpc":"2.0","id":1,"method":"$/nobody"}`, unknown),
		ignored("REL-18 unknown notification", `{"jsonrpc":"2.0","method":"nobody/listens","params":{"a":[1,2,3]}}`),
		ignored("REL-18 unknown $/ notification", `{"jsonrpc":"2.0","method":"$/nobody","params":5}`),
		ignored("REL-19 notification with broken params",
			`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":5}}`),
		ignored("REL-19 notification with a repeated member",
			`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///a","uri":"file:///b","version":1},"contentChanges":[]}}`),
		answered("REL-19 params are no structure", "1", `{"jsonrpc":"2.0","id":1,"method":"nobody/knows","params":5}`,
			unknown, params),
	}
	for _, id := range []string{`1`, `0`, `-5`, `"a"`, `"1"`, `""`, `2147483648`, `9007199254740993`,
		`9223372036854775807`, `"a\/\u0041\ud800"`, "\"\u2028\U0001f600\""} {
		cases = append(cases, answered("REL-14 echoed id "+id, id,
			`{"jsonrpc":"2.0","method":"nobody/knows","id":`+id+`}`, unknown))
	}
	return cases
}
