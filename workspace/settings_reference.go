package workspace

import "strings"

// SettingsRow is one key of a settings file, as the reference page and the JSON
// Schema of settings tell of it.
type SettingsRow struct {
	Key     string      // with dots: * is a name that a person gives, [] an element of a list
	Kind    string      // object, string, boolean, number, whole number, list of strings, list of objects, value
	Doc     string      // what it means, in one sentence
	Values  []string    // all that it, or an element of its list, may be; nil = any
	Bounds  *[2]float64 // the least and the most of a number; nil = any
	Default any         // nil = none
	Own     bool        // a project's file cannot set it
}

// SettingsReference returns all keys that are read of a settings file, an object
// before what is in it. The caller must not change what the rows share.
func SettingsReference() []SettingsRow {
	defaults := make(map[string]any)
	for _, e := range defaultSettings().Effective() {
		if !empty(e.Value) {
			defaults[e.Key] = e.Value
		}
	}
	var rows []SettingsRow
	for _, s := range settingShapes() {
		rows = append(rows, SettingsRow{
			Key: s.path, Kind: s.kind, Doc: s.doc, Values: s.values, Bounds: s.bounds, Default: defaults[s.path],
			Own: ownOnly(strings.Split(s.path, ".")),
		})
	}
	return rows
}

// HookEvents returns the keys that the section hooks may have.
func HookEvents() []string { return append([]string(nil), hookEvents...) }
