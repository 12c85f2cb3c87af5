import type { Matcher, VectorExpect } from "./vectors.ts";

/** An expectation with one thing changed, and what that was. */
interface Mutation {
  readonly change: string;
  readonly expect: VectorExpect;
}

/** Every way in which an expectation can be wrong in one point. A check that passes one is none. */
export function* mutations(expect: VectorExpect): Generator<Mutation> {
  yield { change: "status", expect: { ...expect, status: expect.status + 1 } };
  for (const part of ["headers", "body"] as const) {
    for (const [name, matcher] of Object.entries(expect[part] ?? {})) {
      yield {
        change: `${part} ${name}`,
        expect: { ...expect, [part]: { ...expect[part], [name]: opposite(matcher) } },
      };
    }
  }
  for (const part of ["names", "versions", "item_keys"] as const) {
    const list = expect[part];
    if (list === undefined) continue;
    yield { change: `${part} more`, expect: { ...expect, [part]: [...list, "extra"] } };
    if (list.length > 1) {
      yield { change: `${part} order`, expect: { ...expect, [part]: list.toReversed() } };
    }
  }
  if (expect.body_empty !== undefined) {
    yield { change: "body_empty", expect: { ...expect, body_empty: !expect.body_empty } };
  }
  if (expect.count !== undefined) {
    yield { change: "count", expect: { ...expect, count: expect.count + 1 } };
  }
  for (const [kind, value] of Object.entries(expect.state ?? {})) {
    const wrong = Array.isArray(value)
      ? [...(value as unknown[]), "extra"]
      : Object.fromEntries(Object.entries(value as object).map(([key]) => [key, "wrong"]));
    yield {
      change: `state ${kind}`,
      expect: { ...expect, state: { ...expect.state, [kind]: wrong } },
    };
  }
  for (const [index, step] of (expect.then ?? []).entries()) {
    for (const inner of mutations(step.expect)) {
      const then = (expect.then ?? []).with(index, { ...step, expect: inner.expect });
      // oxlint-disable-next-line unicorn/no-thenable -- the recorded cases call it so
      yield { change: `then ${index} ${inner.change}`, expect: { ...expect, then } };
    }
  }
}

function opposite(matcher: Matcher): Matcher {
  if (typeof matcher === "string") return `${matcher}x`;
  if (typeof matcher === "number") return matcher + 1;
  if (typeof matcher === "boolean") return !matcher;
  if (matcher === null) return "something";
  // What has to match anything at all is compared with something impossible instead.
  return { match: "^impossible$" };
}
