import { HIT_EVENT } from "./hit-event.ts";
import { isFunction, isWithoutCode } from "./mutants-of.ts";
import { childrenOf, parseSource, type SyntaxNode } from "./syntax-tree.ts";

/** The source with a probe at the beginning of each function: it emits `<path>:<number of the function>`. */
export function withHitProbes(path: string, source: string): string {
  const inserts: { at: number; text: string }[] = [];
  let functions = 0;
  const visit = (node: SyntaxNode): void => {
    if (isWithoutCode(node)) return;
    if (isFunction(node)) {
      const probe = `process.emit(${JSON.stringify(HIT_EVENT)}, ${JSON.stringify(`${path}:${functions++}`)})`;
      const body = node["body"] as SyntaxNode | null;
      if (body?.type === "BlockStatement" || body?.type === "FunctionBody") {
        inserts.push({ at: body.start + 1, text: `${probe};` });
      } else if (body !== null && body !== undefined) {
        inserts.push({ at: body.start, text: `(${probe}, ` }, { at: body.end, text: ")" });
      }
    }
    for (const child of childrenOf(node)) visit(child);
  };
  visit(parseSource(path, source));
  let text = "";
  let done = 0;
  for (const { at, text: insert } of inserts.toSorted((left, right) => left.at - right.at)) {
    text += source.slice(done, at) + insert;
    done = at;
  }
  return text + source.slice(done);
}
