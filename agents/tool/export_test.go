package tool

// WhyProtected returns why a write to a path is protected, "" if it is not.
func WhyProtected(path string) string { return whyProtected(foldPath(path)) }
