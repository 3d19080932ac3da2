package graph

import "slices"

// What the shape of a graph says: which node comes before which.

// order is the shape of a graph. Nodes are numbers: their places in Plan.Nodes. It is
// computed once for a plan, in time that grows with nodes times edges, and never
// changes. Where two nodes have one name, index has the first.
type order struct {
	index map[string]int
	next  [][]int  // by node, the nodes that its edges lead to, as they are looked at
	rank  []int    // a node comes before those that it leads to, but for edges that lead back
	reach [][]bool // reach[a][b]: some way leads from a to b, of one edge or more
	ahead [][]bool // the same without edges that lead back
	ends  []bool   // some way leads from the node to END
	known []bool   // some way leads from the entry to the node
}

// order works the shape out. It can be asked of any plan: edges to nodes that there are not are
// left out.
func (p *Plan) order() *order {
	n := len(p.Nodes)
	o := &order{index: make(map[string]int, n), next: make([][]int, n), rank: make([]int, n), ends: make([]bool, n),
		known: make([]bool, n)}
	for i, node := range p.Nodes {
		if _, twice := o.index[node.Name]; !twice {
			o.index[node.Name] = i
		}
	}
	for name, from := range o.index {
		for _, e := range p.from(name) {
			if to, ok := o.index[e.To]; ok {
				o.next[from] = append(o.next[from], to)
			} else if e.To == End {
				o.ends[from] = true
			}
		}
	}
	// Depth first from the entry: an edge to a node that is being visited leads back.
	const visiting, visited = 1, 2
	state := make([]int, n)
	forward := make([][]int, n)
	var after []int // nodes, each after those that it leads to
	var visit func(int)
	visit = func(a int) {
		state[a] = visiting
		for _, b := range slices.Backward(o.next[a]) { // so that the first ranks first
			if state[b] == visiting {
				continue
			}
			forward[a] = append(forward[a], b)
			if state[b] == 0 {
				visit(b)
			}
		}
		state[a] = visited
		after = append(after, a)
	}
	if entry, ok := o.index[p.Entry]; ok {
		visit(entry)
		for i := range n {
			o.known[i] = state[i] != 0
		}
	}
	for i := range n {
		if state[i] == 0 {
			visit(i)
		}
	}
	for i, a := range after {
		o.rank[a] = n - 1 - i
	}
	o.reach, o.ahead = closure(o.next), closure(forward)
	direct := append([]bool(nil), o.ends...)
	for a := range n {
		for b := range n {
			o.ends[a] = o.ends[a] || (direct[b] && o.reach[a][b])
		}
	}
	return o
}

// closure returns which nodes some way leads to. A node leads to itself only where a
// way comes back to it.
func closure(next [][]int) [][]bool {
	all := make([][]bool, len(next))
	for a := range next {
		all[a] = make([]bool, len(next))
		open := append([]int(nil), next[a]...)
		for len(open) > 0 {
			b := open[len(open)-1]
			open = open[:len(open)-1]
			if !all[a][b] {
				all[a][b] = true
				open = append(open, next[b]...)
			}
		}
	}
	return all
}
