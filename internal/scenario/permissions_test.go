package scenario_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentls/agentls/internal/wire"
)

// remembered returns the answers that stand for later questions.
func (s *story) remembered(ctx context.Context) ([]wire.Permission, error) {
	var all wire.PermissionsListResult
	err := s.editor.Call(ctx, wire.MethodPermissionsList, &wire.PermissionsListParams{}, &all)
	return all.Permissions, err
}

// permissions prints them, one a line.
func (s *story) permissions() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	all, err := s.remembered(ctx)
	var b strings.Builder
	for _, p := range all {
		fmt.Fprintf(&b, "%s %s %s %s: %s\n", p.Agent, p.Tool, p.Scope, p.Decision, p.Pattern)
	}
	return b.String(), err
}

// forget forgets all answers for an agent; none is an error.
func (s *story) forget(ctx context.Context, agent string) error {
	all, err := s.remembered(ctx)
	if err != nil {
		return err
	}
	n := 0
	for _, p := range all {
		if p.Agent != agent {
			continue
		}
		var r wire.PermissionsForgetResult
		if err := s.editor.Call(ctx, wire.MethodPermissionsForget, &wire.PermissionsForgetParams{ID: p.ID}, &r); err != nil {
			return err
		}
		if r.Forgotten {
			n++
		}
		if err := s.editor.Call(ctx, wire.MethodPermissionsForget, &wire.PermissionsForgetParams{ID: p.ID}, &r); err != nil || r.Forgotten {
			return fmt.Errorf("it is forgotten a second time: %v, %w", r.Forgotten, err)
		}
	}
	if n == 0 {
		return fmt.Errorf("nothing is remembered for %s", agent)
	}
	return nil
}
