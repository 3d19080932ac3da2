// Package mask takes secrets out of what is recorded, sent or shown (spec 7.2).
//
// There are two measures. A value that the daemon itself holds is taken out of
// everything ([Masker.MaskKnown]). What merely looks like a credential is taken out
// of what leaves the daemon, and not out of the record that a model's context is
// made of ([Masker.MaskAll]). A marker takes a secret's place: [masked:NAME] for a
// value that is known, [masked:credential] and [masked:private key] for others.
//
// What commands print has a masker of its own ([NewOutput]), which knows the values
// of credential files ([SecretsOfFile]) and what stands before the host of a URL.
//
// # JSON
//
// Both take JSON as well as plain text, and JSON stays valid. A secret is found
// however JSON writes it, also where a string holds JSON again. A JSON number
// stays what it is, and so does a word of less than sixteen letters that is a
// whole string or a member's name: it may be a word of the protocol's. A value
// in base64, or in any other coding, is not found.
//
// # Cost
//
// Nothing is allocated where nothing is found, and most bytes are not looked at:
// [Masker.MaskKnown] takes some 0.07 µs for 100 bytes and 13 µs for 16 KiB,
// [Masker.MaskAll] 0.35 µs and 55 µs (BenchmarkShown). The time grows with the
// length of a text, whatever is in it.
//
// # Life cycle
//
// Who holds secrets makes a [Masker] of them, and another one when they change: a
// Masker never does. It is given whole texts ([Masker.MaskKnown], [Masker.MaskAll]);
// what comes in pieces goes through a [Stream], or a [Writer] or [NewReader] over one,
// which is ended by Flush. Slices that are given are never changed, and the results may
// be the ones given.
package mask
