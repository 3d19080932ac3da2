// Package modelserver is the Gemini REST API, played from a script: a model
// that says what a file says it says. The demo, the walkthroughs and the tests
// run the real client code against it, over loopback or, by [Transport],
// without a port.
//
// It answers by the paths of the Developer API and by those of Vertex AI, where a
// project's need a token that POST /token gave ([Server.Revoke] takes tokens
// back) and the others an API key.
//
// It serves generateContent, streamGenerateContent (as server-sent events with
// alt=sse, else as a JSON array), countTokens, batchEmbedContents (of Vertex AI,
// predict; no script is needed) and the list of models, wants an
// API key in x-goog-api-key, and refuses what the real API refuses: a call
// that is not answered by exactly one response in the next message, and a
// thought signature that does not come back as it was sent.
//
// # Scripts
//
// A script is a list of steps, one for each request that generates content, in
// order. A step is some lines that begin with > (what the request must be) and
// then some that begin with < (the answer); a blank line ends it. # begins a
// comment.
//
//	> Find all TODO comments
//	>system You are a careful reviewer.
//	>tool read_file
//	>!tool write_file
//	<thought Planning: I need to see the file first.
//	< I will look at app.ts.
//	<call read_file {"path": "app.ts"}
//	<call grep {"pattern": "TODO"}
//
//	>result read_file contains function main
//	>result-error grep contains not allowed
//	< There are two of them.\n
//	< Both are in main.
//	<usage in=1200 out=30 cached=1000 thoughts=12
//
// In texts \n, \r, \t, \s (a space), \\ and \uXXXX are escapes; one space after
// the > or < or after the word is not part of the text.
//
// # What a request must be
//
// All of a step's lines must hold. Each of them may be turned round with a !
// after the >.
//
//	> TEXT                     the texts of the last message of the user that has any contain TEXT
//	>system TEXT               the system prompt contains TEXT
//	>history TEXT              some text, call or result of the conversation contains TEXT
//	>tool NAME                 the tool is offered
//	>result NAME               the last message has a result of the tool
//	>result NAME contains TEXT … one that holds TEXT
//	>result-error NAME contains TEXT … one that is an error and holds TEXT
//	>call NAME                 the last message of the model has a call of the tool
//	>media MIME                the last message has data of this type
//	>model TEXT                the model's id contains TEXT
//	>body TEXT                 the request's JSON contains TEXT, byte for byte
//	>messages N                the conversation has N messages
//
// A request that does not hold, and one after the script's end, is answered
// with 400 and a text that begins with "script:", and noted in
// [Server.Failures]: such a run cannot look as if it had gone well.
//
// # What the answer is
//
// Each line is a chunk of the stream, but calls that follow each other, and the
// line with a signature and the part after it, are one.
//
//	< TEXT                     text
//	<thought SUBJECT: TEXT     a summary of thoughts; without ": ", a text without a subject
//	<call NAME {JSON} id=ID    a call; id=none leaves the id out, without id= one is made up
//	<signature BASE64          of the next part; the first call of an answer has one anyway, none leaves it out
//	<media MIME BASE64         data
//	<repeat N TEXT             N chunks of text; {} in it is the number of the chunk, from 0
//	<finish REASON MESSAGE     why the answer ended; none: it ends without saying. Without the line: STOP
//	<usage in=N out=N cached=N thoughts=N total=N  the counts; none: no counts. Without the line: in=100 out=10
//	<long N                    a chunk with a text of N bytes
//	<block REASON              the prompt is refused: no candidate, only feedback
//	<raw {JSON}                a chunk as it stands; with one, nothing is added that no line says
//	<bytes "GO STRING"         bytes of the body as they stand (with alt=sse: between two events)
//
//	<status CODE TEXT          an error in place of an answer; TEXT or {JSON} and then retry-after=VALUE,
//	                           in quotes if it has spaces, may follow the code
//	<cut at N                  the connection breaks after N bytes of the body, or where it ends
//	                           (a first line of an answer, as the next three)
//	<stall at N                nothing more comes after N bytes of the body, until the client gives up
//	<gzip                      the body is compressed
//	<wire STYLE…               how the events are written: lf (line ends), nospace (after data:), bom,
//	                           comments, fields (event, id, retry), lines (many data: for one event),
//	                           comma (after the JSON), done ([DONE] at the end)
//	<cut                       the connection breaks, in the middle of an event; <cut rune: in the
//	                           middle of a rune; <cut clean: between two events; as the first line: without an answer
//	<hang                      nothing more comes until the client gives up; as the first line: not even headers
//	<heartbeat DURATION        from here on only comments come, one each time, until the client gives up
//	<headers                   the headers go out now
//	<pause DURATION            such as 50ms
//	<gate NAME                 waits for [Server.Open]
//
// # Several conversations
//
// A line "# when CONDITION" begins a section with steps of its own, played
// independently of the others; several such lines in a row must all hold. A
// request is for the first section whose conditions hold, else for the steps
// before the first section.
//
//	# when system contains You are the reviewer
//	# when model contains flash
//	# when input contains Fix this bug      (the first text of the user)
//	# when history contains denied          (some text, call or result of the conversation)
//	# when tool complete_task               (is offered)
//	# when no tool complete_task
//
// The package imports nothing of this module.
//
// # How it fits together
//
// [Parse] (or [FromRecording]) makes a [Script], [New] a [Server] that plays it once, and
// [Transport] or an http.Server brings requests to it. Requests may come at the same time: each
// takes the next step of its section under the server's mutex, and from there on its answer is a
// player of its own, so a slow answer holds up no other. At the end [Server.Done] says whether all
// was played and nothing failed. Nothing waits for real time but pauses and heartbeats, which
// [Config] can take over.
package modelserver
