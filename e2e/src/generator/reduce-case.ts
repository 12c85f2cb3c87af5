import type { ConfigurationItem, GeneratedCase, GeneratedStep } from "./configuration-tree.ts";

interface ReduceOptions {
  /** Most cases that are tried. */
  readonly limit: number;
}

/**
 * A smaller case for which something still holds: steps, files, targets and edits are left out, then pieces of the configurations, the
 * large ones first, as long as `holds` says so.
 */
export async function reduceCase(
  original: GeneratedCase,
  holds: (smaller: GeneratedCase) => Promise<boolean>,
  { limit }: ReduceOptions,
): Promise<GeneratedCase> {
  let best = original;
  let tried = 0;
  let progress = true;
  while (progress) {
    progress = false;
    // The candidates of the best case change with it; those that were passed over are not tried again in this round.
    for (let at = 0; tried < limit; ) {
      const candidate = candidateAt(best, at);
      if (candidate === undefined) break;
      tried += 1;
      if (await holds(candidate)) {
        best = candidate;
        progress = true;
      } else at += 1;
    }
    if (tried >= limit) return best;
  }
  return best;
}

function candidateAt(test: GeneratedCase, at: number): GeneratedCase | undefined {
  let index = 0;
  for (const candidate of candidates(test)) {
    if (index === at) return candidate;
    index += 1;
  }
  return undefined;
}

/** Each with one thing less. */
function* candidates(test: GeneratedCase): Generator<GeneratedCase> {
  const { steps } = test;
  if (steps.length > 1) {
    for (const dropped of steps) yield { ...test, steps: steps.filter((one) => one !== dropped) };
  }
  for (const [at, step] of steps.entries()) {
    const withStep = (smaller: GeneratedStep): GeneratedCase => ({
      ...test,
      steps: steps.with(at, smaller),
    });
    for (const part of ["stateEdits", "targets", "replace"] as const) {
      if (step[part].length > 0) yield withStep({ ...step, [part]: [] });
    }
    for (const [path, items] of step.files) {
      for (const smaller of smallerLists(items)) {
        yield withStep({ ...step, files: new Map([...step.files, [path, smaller]]) });
      }
    }
  }
}

/** The lists with one piece less: at this level first, then inside of the blocks. */
function* smallerLists(
  items: readonly ConfigurationItem[],
): Generator<readonly ConfigurationItem[]> {
  for (const at of items.keys()) yield items.toSpliced(at, 1);
  for (const [at, item] of items.entries()) {
    if (typeof item === "string") {
      yield* simplerLines(item).map((line) => items.with(at, line));
      continue;
    }
    for (const smaller of smallerLists(item.items)) {
      yield items.with(at, { ...item, items: smaller });
    }
  }
}

/** The line with one of its bracketed parts in place of the whole expression. */
function simplerLines(line: string): readonly string[] {
  const [, name, expression] = /^(\w+) = (.+)$/.exec(line) ?? [];
  if (name === undefined || expression === undefined || expression.length < 4) return [];
  const parts = new Set<string>();
  const opened: number[] = [];
  for (let at = 0; at < expression.length; at++) {
    const letter = expression.charAt(at);
    if ("([{".includes(letter)) opened.push(at);
    else if (")]}".includes(letter)) {
      const start = opened.pop();
      if (start === undefined) return [];
      const whole = expression.slice(start, at + 1);
      const inner = expression.slice(start + 1, at);
      if (letter !== "}") for (const part of splitTop(inner)) parts.add(part);
      if (letter !== ")") parts.add(whole);
      const head = /[\w:]+$/.exec(expression.slice(0, start))?.[0] ?? "";
      if (head !== "" && letter === ")") parts.add(`${head}${whole}`);
    }
  }
  return [...parts]
    .filter((part) => part !== "" && part.length < expression.length)
    .map((part) => `${name} = ${part}`);
}

/** The parts between the commas that are in no bracket. */
function splitTop(text: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = "";
  for (const letter of text) {
    if ("([{".includes(letter)) depth += 1;
    if (")]}".includes(letter)) depth -= 1;
    if (letter === "," && depth === 0) {
      parts.push(part.trim());
      part = "";
    } else part += letter;
  }
  parts.push(part.trim());
  return parts;
}
