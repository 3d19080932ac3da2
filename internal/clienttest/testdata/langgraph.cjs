// Reads a graph as agentls writes it into LangGraph's own Graph, and prints how that
// draws it.
const path = require("node:path");
const { Graph } = require(path.join(process.env.CLIENT_MODULES, "@langchain/core/runnables/graph"));

const read = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const graph = new Graph();
for (const node of read.nodes) {
	graph.addNode({ name: node.data.name ?? node.data.title, schema: {} }, node.id);
}
for (const edge of read.edges) {
	graph.addEdge(graph.nodes[edge.source], graph.nodes[edge.target], edge.data, edge.conditional);
}
const written = graph.toJSON();
if (JSON.stringify(written.edges) !== JSON.stringify(read.edges)) {
	throw new Error(`its edges are ${JSON.stringify(written.edges)}`);
}
process.stdout.write(graph.drawMermaid());
