package definition

// The names in a graph (spec 7.1).

// graph reports a graph without an entry, and names that no node has.
func (r *reader) graph(v *node) {
	nodes := map[string]bool{"END": true}
	if list := v.get("nodes"); list != nil {
		for i := range list.items {
			if name := list.items[i].get("name"); name != nil && name.kind == str {
				nodes[name.text] = true
			}
		}
	}
	known := func(n *node) {
		if n != nil && n.kind == str && !nodes[n.text] {
			r.at(n, "agent/graph", Error, "The graph has no node %s; add it to nodes, or correct the name.", n.text)
		}
	}
	entry := v.get("entry")
	if entry == nil || entry.kind != str || entry.text == "END" {
		r.at(v, "agent/graph", Error, "The graph has no entry; write entry: with the name of its first node.")
	} else {
		known(entry)
	}
	if edges := v.get("edges"); edges != nil {
		for i := range edges.items {
			known(edges.items[i].get("from"))
			known(edges.items[i].get("to"))
		}
	}
}
