package modelserver

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"net/http"
	"strings"
	"unicode"
)

// dimension is how long vectors are where a request does not say, as the real API's are.
const dimension = 3072

// embedding is what batchEmbedContents is asked for, a request for each text.
type embedding struct {
	Content              wireContent `json:"content"`
	TaskType             string      `json:"taskType"`
	OutputDimensionality int         `json:"outputDimensionality"`
}

// embed answers batchEmbedContents, and predict of Vertex AI. The vector of a text says
// which words it has, so that texts with the same words are alike. No script is needed.
func (s *Server) embed(w http.ResponseWriter, r *Request) {
	s.note(r)
	var body struct {
		Requests  []embedding `json:"requests"`
		Instances []struct {
			Content  string `json:"content"`
			TaskType string `json:"task_type"`
		} `json:"instances"`
		Parameters struct {
			OutputDimensionality int `json:"outputDimensionality"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil || len(body.Requests)+len(body.Instances) == 0 {
		writeError(w, 400, "there is nothing to embed", nil)
		return
	}
	type values struct {
		Values []float64 `json:"values"`
	}
	var vectors, predictions []any
	for _, q := range body.Requests {
		vectors = append(vectors, values{vectorOf(q.Content.message().text(), q.OutputDimensionality)})
	}
	for _, q := range body.Instances {
		predictions = append(predictions, map[string]any{"embeddings": values{vectorOf(q.Content,
			body.Parameters.OutputDimensionality)}})
	}
	if r.Action == "predict" {
		writeJSON(w, 200, map[string]any{"predictions": predictions})
		return
	}
	writeJSON(w, 200, map[string]any{"embeddings": vectors})
}

// vectorOf counts the words of a text, each at a place that its hash gives, and divides by their
// number. Case and punctuation do not count; n ≤ 0 is the usual dimension.
func vectorOf(text string, n int) []float64 {
	if n <= 0 {
		n = dimension
	}
	v := make([]float64, n)
	count := 0.0
	for _, word := range strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(word))
		v[int(h.Sum32()%uint32(n))]++
		count++
	}
	for i := range v {
		v[i] /= math.Max(count, 1)
	}
	return v
}
