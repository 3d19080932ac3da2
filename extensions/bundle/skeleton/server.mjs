// An MCP server over standard input and output with one tool, without dependencies.
import { createInterface } from "node:readline";

const tools = [
	{
		name: "greet",
		description: "Greets somebody.",
		inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
	},
];

const methods = {
	initialize: ({ protocolVersion }) => ({
		protocolVersion,
		capabilities: { tools: {} },
		serverInfo: { name: "example", version: "0.1.0" },
	}),
	ping: () => ({}),
	"tools/list": () => ({ tools }),
	"tools/call": ({ arguments: args }) => ({ content: [{ type: "text", text: `Hello, ${args.name}!` }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
	const { id, method, params } = JSON.parse(line);
	if (id === undefined) continue; // a notification
	const answer = methods[method]
		? { result: methods[method](params ?? {}) }
		: { error: { code: -32601, message: `unknown method ${method}` } };
	console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
}
