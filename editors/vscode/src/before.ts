// What a file was before a change. No editor API here.
import { applyPatch, parsePatch, reversePatch } from "diff";

/** textBefore takes a unified patch back from a text; undefined where it does not fit any more. */
export function textBefore(now: string, patch: string): string | undefined {
	const [first] = parsePatch(patch);
	if (!first?.hunks.length) {
		return undefined;
	}
	const before = applyPatch(now, reversePatch(first), { fuzzFactor: 0, autoConvertLineEndings: true });
	return before === false ? undefined : before;
}
