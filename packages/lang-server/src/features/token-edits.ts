import type { SemanticTokens, SemanticTokensEdit } from "vscode-languageserver-protocol";

/** Documents whose last tokens are kept; those of the one that was asked about longest ago are dropped. */
const MAX_KEPT = 64;

/**
 * The last tokens that each document was answered with, so that a client gets only what has changed since. An answer never depends on
 * what is kept but for its length: where nothing is, or something else than the client has, it is whole.
 */
export class KeptTokens {
  readonly #kept = new Map<string, Required<SemanticTokens>>();
  #count = 0;

  /** All tokens, with the name under which the client knows them. */
  whole(uri: string, data: number[]): Required<SemanticTokens> {
    this.#count += 1;
    const tokens = { resultId: String(this.#count), data };
    // Again, so that it is the newest.
    this.#kept.delete(uri);
    this.#kept.set(uri, tokens);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return tokens;
  }

  /** What is other than in the answer that the client names, or everything. */
  changed(
    uri: string,
    previous: string,
    data: number[],
  ):
    | Required<SemanticTokens>
    | { readonly resultId: string; readonly edits: SemanticTokensEdit[] } {
    const former = this.#kept.get(uri);
    const now = this.whole(uri, data);
    if (former?.resultId !== previous) return now;
    return { resultId: now.resultId, edits: tokenEdits(former.data, data) };
  }
}

/** One edit of what is between the equal beginnings and ends; none where nothing changed. */
export function tokenEdits(
  before: readonly number[],
  after: readonly number[],
): SemanticTokensEdit[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let same = 0;
  while (same < shorter - start && before.at(-1 - same) === after.at(-1 - same)) same += 1;
  const deleteCount = before.length - start - same;
  const data = after.slice(start, after.length - same);
  if (deleteCount === 0 && data.length === 0) return [];
  return [{ start, deleteCount, data }];
}
