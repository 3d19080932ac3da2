package command

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// row is a program of the auto table: the flags that it may have, and what its
// operands are. A flag that is not listed is not allowed, in whatever spelling.
type row struct {
	short    string // options of one letter without a value; may be clustered
	value    string // options of one letter with a value, attached or next
	long     string // long options without a value, separated by blanks
	equals   string // long options with a value after =
	number   bool   // -20 is an option
	operands kind   // what stands besides options
	most     int    // operands at most; 0 = any number
	check    func(operands []string) error
	secrets  func(argv []string) (hidden, recursive bool) // whether it reads whole folders; nil = never
	free     bool                                         // it prints whatever it is given, and has no option that does more
	find     bool                                         // its arguments are find's expression
	pattern  *regexp.Regexp                               // of the first operand, which is no path
}

// kind is what operands are.
type kind uint8

const (
	none       kind = iota
	paths           // all are paths
	wordsOnly       // none is a path
	wordsFirst      // the first is not, the others are
)

// table is the auto table of spec 4.2: programs that read, with the options
// that neither write nor execute.
var table = map[string]row{
	"ls":       {short: "1aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ", long: "--all --almost-all --human-readable --recursive --reverse --size --inode --directory --classify --group-directories-first --full-time --numeric-uid-gid --no-group", equals: "--color --sort --time --time-style --format", operands: paths},
	"cat":      {short: "AbeEnstTuv", long: "--number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank --show-nonprinting", operands: paths},
	"head":     {short: "qv", value: "nc", long: "--quiet --silent --verbose", equals: "--lines --bytes", number: true, operands: paths},
	"tail":     {short: "qv", value: "nc", long: "--quiet --silent --verbose", equals: "--lines --bytes", number: true, operands: paths},
	"wc":       {short: "clmLw", long: "--bytes --chars --lines --max-line-length --words", operands: paths},
	"nl":       {short: "p", value: "bdfhilnsvw", operands: paths},
	"tac":      {short: "br", value: "s", operands: paths},
	"pwd":      {short: "LP"},
	"echo":     {operands: wordsOnly, free: true},
	"true":     {operands: wordsOnly},
	"false":    {operands: wordsOnly},
	"whoami":   {},
	"uname":    {short: "asnrvmpio", long: "--all --kernel-name --machine --kernel-release"},
	"nproc":    {long: "--all"},
	"arch":     {},
	"basename": {short: "az", value: "s", long: "--multiple --zero", equals: "--suffix", operands: wordsOnly},
	"dirname":  {short: "z", long: "--zero", operands: wordsOnly},
	"realpath": {short: "emsz", long: "--canonicalize-existing --canonicalize-missing --no-symlinks", operands: paths},
	"readlink": {short: "efmnz", operands: paths},
	"which":    {short: "a", operands: wordsOnly, check: plainWords},
	"stat":     {short: "ft", value: "c", long: "--file-system --terse", equals: "--format --printf", operands: paths},
	"file":     {short: "bhikN", long: "--brief --mime --mime-type --mime-encoding", operands: paths},
	"du":       {short: "0abchkmsSx", value: "d", long: "--all --apparent-size --bytes --total --human-readable --summarize --one-file-system", equals: "--max-depth --threshold", operands: paths},
	"df":       {short: "ahHiklPT", long: "--all --human-readable --inodes --print-type", operands: paths},
	"date":     {short: "uR", value: "d", long: "--utc --rfc-email", equals: "--date --iso-8601 --rfc-3339", operands: wordsOnly, most: 1, check: dateFormat},
	"sort":     {short: "bdfghiMnRrVcCmsuz", value: "kt", long: "--ignore-leading-blanks --ignore-case --numeric-sort --general-numeric-sort --human-numeric-sort --version-sort --reverse --unique --stable --check", equals: "--key --field-separator", operands: paths},
	"uniq":     {short: "cdDiuz", value: "fsw", long: "--count --repeated --unique --ignore-case", equals: "--skip-fields --skip-chars --check-chars", operands: paths, most: 1},
	"cut":      {short: "nsz", value: "bcdf", long: "--complement --only-delimited", equals: "--bytes --characters --delimiter --fields --output-delimiter", operands: paths},
	"tr":       {short: "cCdst", long: "--complement --delete --squeeze-repeats --truncate-set1", operands: wordsOnly, most: 2},
	"comm":     {short: "123", long: "--check-order --nocheck-order --total", operands: paths},
	"paste":    {short: "sz", value: "d", long: "--serial", equals: "--delimiters", operands: paths},
	"cmp":      {short: "bls", value: "n", operands: paths},
	"diff":     {short: "abBdeiNpqstTuwyE", value: "UCW", long: "--unified --brief --side-by-side --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-case --text --minimal --suppress-common-lines", equals: "--unified --context --color --width", operands: paths, secrets: everything},
	"md5sum":   {short: "bt", operands: paths},
	"sha1sum":  {short: "bt", operands: paths}, "sha256sum": {short: "bt", operands: paths}, "sha512sum": {short: "bt", operands: paths},
	"grep": {short: "EFGPiIvwxcLlnHhoqsrabTUyz", value: "mABCe", number: true,
		long:   "--extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --invert-match --word-regexp --line-regexp --count --files-with-matches --files-without-match --line-number --with-filename --no-filename --only-matching --quiet --silent --no-messages --recursive --text --byte-offset --initial-tab --color --colour --null",
		equals: "--max-count --after-context --before-context --context --include --exclude --exclude-dir --regexp --color --colour --binary-files", operands: wordsFirst, secrets: grepReads},
	"rg": {short: "ciSsFwxvlnNHoPUup0", value: "mABCegtTM",
		long:   "--ignore-case --smart-case --case-sensitive --fixed-strings --word-regexp --line-regexp --invert-match --count --count-matches --files-with-matches --files-without-match --line-number --no-line-number --with-filename --no-filename --only-matching --pcre2 --multiline --multiline-dotall --hidden --no-ignore --no-ignore-vcs --heading --no-heading --column --vimgrep --json --stats --trim --quiet --no-messages --null --no-config --unrestricted --files --pretty --passthru --byte-offset",
		equals: "--max-count --after-context --before-context --context --glob --iglob --regexp --type --type-not --max-columns --max-depth --max-filesize --color --colors --sort --sortr --replace --engine --encoding", operands: wordsFirst, secrets: rgReads},
	"tree": {short: "adfhpsugDFrtinACSq", value: "LIP", long: "--dirsfirst --noreport --gitignore --filesfirst --du --prune", equals: "--sort --charset --filelimit", operands: paths},
	"find": {find: true, operands: paths},
	"sed":  {short: "nE", operands: wordsFirst, pattern: regexp.MustCompile(`^([0-9]+(,([0-9]+|\$))?|\$)p$`)},
}

// errOption says that an option is not in the list.
func errOption(option string) error {
	return fmt.Errorf("with %s: not known to only read", option)
}

// read returns the paths among the operands of argv, or an error that says what
// keeps the command from the table.
func (r row) read(argv []string) ([]string, error) {
	if r.free {
		return nil, nil
	}
	if r.swells(argv[0], argv[1:]) {
		return nil, errors.New("with a count so large that it may use up memory and time")
	}
	if r.find {
		return findPaths(argv[1:])
	}
	operands, patterns, err := r.split(argv[1:])
	if err != nil {
		return nil, err
	}
	if r.check != nil {
		if err := r.check(operands); err != nil {
			return nil, err
		}
	}
	if r.operands == none && len(operands) > 0 {
		return nil, errors.New("takes no operands")
	}
	if r.most > 0 && len(operands) > r.most {
		return nil, fmt.Errorf("with more than %d operands may write", r.most)
	}
	switch r.operands {
	case wordsOnly:
		return nil, nil
	case wordsFirst:
		if patterns {
			return operands, nil // an option gave it, or there is none
		}
		if len(operands) == 0 {
			return nil, errors.New("without a pattern")
		}
		if r.pattern != nil && (!r.pattern.MatchString(operands[0]) || argv[1] != "-n") {
			return nil, errors.New("with a program that is not known to only print lines")
		}
		return operands[1:], nil
	}
	return operands, nil
}

// maxCopies is how many more letters a pattern may stand for than it has.
const maxCopies = 10_000

// large is a count that nobody reads as many columns of, and wide one as the
// width of something in a format: as printf has it, and as git has it.
var (
	large = regexp.MustCompile("[0-9]{5}")
	wide  = regexp.MustCompile(`%[-+ 0#_^'I]*([0-9]*\.)?[0-9]{5}|%[-+ <>|w]*\([^)]*[0-9]{5}`)
)

// formats are the options whose value is a format.
var formats = set("--format --pretty --date --group --printf --time-style -printf")

// swells reports whether a few letters of the arguments make the program take
// far more memory or time than its files are worth: the width of a format or of
// columns, how often tr and a regular expression repeat something.
func (r row) swells(name string, args []string) bool {
	options := r.given(args)
	has := func(names ...string) bool {
		return slices.ContainsFunc(options, func(o option) bool { return slices.Contains(names, o.name) })
	}
	for _, o := range options {
		switch {
		case formats[o.name], name == "stat" && o.name == "-c":
			if wide.MatchString(strings.ReplaceAll(o.value, "%%", "")) {
				return true
			}
		case name == "nl" && o.name == "-w", name == "diff" && (o.name == "-W" || o.name == "--width"):
			if large.MatchString(o.value) {
				return true
			}
		}
	}
	extended := has("-E", "-P", "--extended-regexp", "--perl-regexp")
	literal := name == "grep" && !extended && has("-F", "--fixed-strings") && !has("-G", "--basic-regexp") || name == "rg" && has("-F", "--fixed-strings")
	for _, a := range args {
		if !literal && copies(a, name == "grep" && !extended) > maxCopies+len(a) {
			return true
		}
		switch at := strings.IndexByte(a, '*'); {
		case name == "tr" && at >= 0 && large.MatchString(a[at:]):
			return true
		case name == "date" && strings.HasPrefix(a, "+") && wide.MatchString(strings.ReplaceAll(a, "%%", "")):
			return true
		}
	}
	return false
}

// option is an option as it is given, one letter or a word, and its value.
type option struct{ name, value string }

// given returns the options among arguments.
func (r row) given(args []string) []option {
	var out []option
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch next := args[min(i+1, len(args)-1)]; {
		case r.find:
			if findValue[a] {
				out = append(out, option{a, next})
				i++
			}
		case a == "--":
			return out
		case strings.HasPrefix(a, "--"):
			name, value, _ := strings.Cut(a, "=")
			out = append(out, option{name, value})
		case strings.HasPrefix(a, "-"):
			for k := 1; k < len(a); k++ {
				one := option{name: "-" + a[k:k+1]}
				takes := strings.IndexByte(r.value, a[k]) >= 0
				if one.value = a[k+1:]; takes && one.value == "" {
					one.value = next
					i++
				}
				if out = append(out, one); takes {
					break
				}
			}
		}
	}
	return out
}

// counted is what follows the bracket of a count.
var counted = regexp.MustCompile(`^[0-9,]*\\?\}`)

// copies returns how many letters a regular expression becomes when its counts
// are written out, as matchers do; of more than can be counted, the most. What
// is none has about as many as it is long. In a basic one only what stands behind
// a backslash groups and counts.
func copies(pattern string, basic bool) int {
	const most = 1 << 30
	var outer []int // of the groups around
	sum, last := 0, 0
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if c == '\\' && i+1 < len(pattern) {
			i++
			if c = pattern[i]; c != '(' && c != ')' && c != '{' && c != '}' {
				c = 'x' // itself
			}
		} else if basic && c != '\\' {
			c = 'x'
		}
		if c == '{' && !counted.MatchString(pattern[i+1:]) {
			c = 'x'
		}
		switch c {
		case '(':
			outer = append(outer, sum)
			sum, last = 0, 0
		case ')':
			last = sum
			if n := len(outer); n > 0 {
				sum, outer = outer[n-1]+sum, outer[:n-1]
			}
		case '{':
			n := 0
			for i++; i < len(pattern) && (pattern[i] == ',' || '0' <= pattern[i] && pattern[i] <= '9'); i++ {
				if pattern[i] == ',' {
					continue
				}
				start := i
				for i+1 < len(pattern) && '0' <= pattern[i+1] && pattern[i+1] <= '9' {
					i++
				}
				if one, err := strconv.Atoi(pattern[start : i+1]); err != nil || one > most {
					n = most
				} else {
					n = max(n, one)
				}
			}
			i-- // what follows the counts
			sum = min(sum+last*max(n-1, 0), most)
			last = min(last*max(n, 1), most)
		case '}':
		default:
			sum, last = min(sum+1, most), 1
		}
	}
	for _, n := range outer {
		sum = min(sum+n, most)
	}
	return sum
}

// split separates operands from options, and checks these. patterns tells
// whether one of the options gave the pattern.
func (r row) split(args []string) (operands []string, patterns bool, err error) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return append(operands, args[i+1:]...), patterns, nil
		case a == "-" || !strings.HasPrefix(a, "-"):
			operands = append(operands, a)
		case strings.HasPrefix(a, "--"):
			name, _, valued := strings.Cut(a, "=")
			if valued && !has(r.equals, name) || !valued && !has(r.long, name) {
				return nil, false, errOption(a)
			}
			patterns = patterns || name == "--regexp" || name == "--files"
		case r.number && isDigits(a[1:]):
		default:
			next, pattern, err := r.cluster(a, args[i+1:])
			if err != nil {
				return nil, false, err
			}
			patterns = patterns || pattern
			if next {
				i++
			}
		}
	}
	return operands, patterns, nil
}

// cluster checks options of one letter. next tells that the last one takes the
// next argument.
func (r row) cluster(a string, rest []string) (next, pattern bool, err error) {
	if r.short == "" && r.value == "" {
		return false, false, errOption(a)
	}
	for k := 1; k < len(a); k++ {
		c := a[k]
		if strings.IndexByte(r.short, c) >= 0 {
			continue
		}
		if strings.IndexByte(r.value, c) < 0 {
			return false, false, errOption(a)
		}
		pattern = c == 'e' && r.operands == wordsFirst
		if k == len(a)-1 {
			// A value that looks like an option is one to a program that takes the
			// value only when it is attached.
			if len(rest) == 0 || strings.HasPrefix(rest[0], "-") && !isDigits(rest[0][1:]) {
				return false, false, errOption(a)
			}
			return true, pattern, nil
		}
		return false, pattern, nil // the rest is its value
	}
	return false, false, nil
}

func has(list, name string) bool { return slices.Contains(strings.Fields(list), name) }

func plainWords(operands []string) error {
	for _, a := range operands {
		if strings.ContainsAny(a, "/~") {
			return errors.New("with a path")
		}
	}
	return nil
}

// dateFormat allows only a format: another operand sets the clock.
func dateFormat(operands []string) error {
	for _, a := range operands {
		if !strings.HasPrefix(a, "+") {
			return errors.New("with an operand that sets the clock")
		}
	}
	return nil
}

// everything tells that all below an operand is read.
func everything([]string) (hidden, recursive bool) { return true, true }

// grepReads tells whether grep reads whole folders.
func grepReads(argv []string) (hidden, recursive bool) {
	for _, a := range argv[1:] {
		if a == "--" {
			break
		}
		if a == "--recursive" || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.ContainsRune(a, 'r') {
			return true, true
		}
	}
	return false, false
}

// rgReads tells whether ripgrep reads names with a dot; it always reads whole
// folders.
func rgReads(argv []string) (hidden, recursive bool) {
	for _, a := range argv[1:] {
		if a == "--" {
			break
		}
		// A positive glob brings hidden files back.
		if strings.HasPrefix(a, "--hidden") || strings.HasPrefix(a, "--unrestricted") || strings.HasPrefix(a, "--glob") || strings.HasPrefix(a, "--iglob") ||
			len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.ContainsAny(a, "ug") {
			return true, true
		}
	}
	return false, true
}

// The parts of find's expression that only test and print. Those of findValue
// take a value that is no path.
var (
	findBare  = set("-print -print0 -prune -empty -depth -xdev -mount -true -false -not -a -and -o -or -quit -ls -daystart -executable -readable -writable -nouser -nogroup ! ( ) ,")
	findValue = set("-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -ctime -atime -mmin -cmin -amin -maxdepth -mindepth -perm -user -group -uid -gid -links -inum -printf -newermt")
)

// findPaths returns where find looks.
func findPaths(args []string) ([]string, error) {
	var out []string
	i := 0
	for ; i < len(args) && !strings.HasPrefix(args[i], "-") && args[i] != "(" && args[i] != "!" && args[i] != ","; i++ {
		out = append(out, args[i])
	}
	for ; i < len(args); i++ {
		switch a := args[i]; {
		case findBare[a]:
		case a == "-newer" && i+1 < len(args):
			i++
			out = append(out, args[i])
		case findValue[a] && i+1 < len(args):
			i++
		default:
			return nil, errOption(a)
		}
	}
	return out, nil
}
