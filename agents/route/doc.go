// Package route picks the agent for an input that names none, by what the agents say
// of themselves and without a model (spec 5.1): keywords and patterns of their
// triggers, and how close the input is to their example sentences.
//
// An [Index] is compiled once for each catalog of agents; [Index.Rank] then tells of
// one input how much speaks for each agent, and how sure that is. Whether the sure
// one is taken, a model is asked or a person is for the caller: this package knows
// no settings.
package route
