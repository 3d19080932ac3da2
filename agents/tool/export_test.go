package tool

// WhyProtected returns why a write to a path is protected, "" if it is not.
func WhyProtected(path string) string { return whyProtected(foldPath(path)) }

// WordsOf returns the words of a plan's commands that may be paths.
func WordsOf(p *Plan) []string { return p.words() }
