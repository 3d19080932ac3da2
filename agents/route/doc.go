// Package route picks the agent for an input that names none, by what the agents say
// of themselves and without a model (spec 5.1): keywords and patterns of their
// triggers, and how close the input is to their example sentences.
//
// An [Index] is compiled once for each catalog of agents; [Index.Rank] then tells of
// one input how much speaks for each agent, and how sure that is. Whether the sure
// one is taken, a model is asked or a person is for the caller: this package knows
// no settings.
//
// # How it scores
//
// A keyword gives 10 points, a pattern 20, and likeness to examples up to 20, each
// times the priority in percent. Confidence, 0 to 100, is another number: how far the
// first is from the second, by rules and by examples, calibrated on CLINC150 so that 80
// is the threshold (docs/routing.md; TestExamplesOfCLINC150, TestDevelopers).
//
// # What it costs
//
// [NewIndex] and [Index.Overlaps] take longer with more agents and are made for the
// background; Rank is made for each input, and bounded by [MaxInput] and its context
// (TestSlowPatternIsStopped).
package route
