import { isDeepStrictEqual } from "node:util";
import { toRpcError } from "../../broadcast.ts";
import type { Recorder } from "./fake-server.ts";
import { decodeJson, normalizeJson } from "./proto-json.ts";
import type { Protocol } from "./protocol.ts";
import type { CallSpec, ErrorSpec, JsonObject, StepExpectation } from "./vector-file.ts";

/** What came of a step: exactly one of reply and error, or a stream and perhaps an error. */
export interface StepOutcome {
  readonly method: string;
  readonly reply?: JsonObject;
  readonly replies?: readonly JsonObject[];
  readonly stream?: readonly JsonObject[];
  readonly error?: unknown;
  readonly ms: number;
}

/** One line per difference between an error and what was expected of it. */
export function compareError(actual: unknown, expected: ErrorSpec): string[] {
  if (actual === undefined) return [`succeeded instead of failing with ${expected.code}`];
  const { code, rawMessage, details } = toRpcError(actual);
  const problems: string[] = [];
  if (code !== expected.code)
    problems.push(`code ${code} instead of ${expected.code}: ${rawMessage}`);
  if (expected.message !== undefined && rawMessage !== expected.message) {
    problems.push(`message ${JSON.stringify(rawMessage)} instead of "${expected.message}"`);
  }
  const text = `${code} ${rawMessage}`.toLowerCase();
  for (const part of expected.contains ?? []) {
    if (!text.includes(part.toLowerCase())) {
      problems.push(`message ${JSON.stringify(rawMessage)} lacks "${part}"`);
    }
  }
  if (expected.details !== undefined) {
    const actualDetails = details.map(({ typeUrl, value }) => {
      const type = typeUrl.slice(typeUrl.lastIndexOf("/") + 1);
      return { type, value: decodeJson(type, value) };
    });
    const wanted = expected.details.map(({ type, value }) => ({
      type,
      value: normalizeJson(type, value),
    }));
    if (!isDeepStrictEqual(actualDetails, wanted)) {
      problems.push(`details ${show(actualDetails)} instead of ${show(wanted)}`);
    }
  }
  return problems;
}

/** One line per difference between what servers saw and what they should have. */
export function compareCalls(
  recorder: Recorder,
  expected: StepExpectation,
  run: {
    readonly servers: readonly string[];
    readonly inProcess: boolean;
    readonly protocol: Protocol;
  },
): string[] {
  const { servers, inProcess, protocol } = run;
  const { calls, order } = expected;
  // A sequence is compared in the order of its calls, everything else in the order of the servers.
  const seen =
    order === "sequential"
      ? recorder.calls
      : recorder.calls.toSorted((a, b) => servers.indexOf(a.server) - servers.indexOf(b.server));
  const problems: string[] = [];
  const names = (list: readonly CallSpec[]) => list.map((call) => `${call.server}.${call.method}`);
  if (!isDeepStrictEqual(names(seen), names(calls))) {
    return [`calls ${show(names(seen))} instead of ${show(names(calls))}`];
  }
  for (const [index, { method, server, request }] of calls.entries()) {
    if (request === undefined) continue;
    const wanted = normalizeJson(protocol.requestType(method), request);
    const actual = seen[index]?.request;
    if (!isDeepStrictEqual(actual, wanted)) {
      problems.push(`${server}.${method} saw ${show(actual)} instead of ${show(wanted)}`);
    }
  }
  if (order === "sequential" && recorder.overlap > 1) problems.push("calls overlapped");
  if (order === "concurrent" && inProcess && recorder.overlap !== calls.length) {
    problems.push(`only ${recorder.overlap} of ${calls.length} calls ran at the same time`);
  }
  return problems;
}

/** One line per difference between what a step gave and what it should have. */
export function compareOutcome(
  outcome: StepOutcome,
  expected: StepExpectation,
  protocol: Protocol,
): string[] {
  const problems: string[] = [];
  if (expected.error !== undefined) problems.push(...compareError(outcome.error, expected.error));
  else if (outcome.error !== undefined) {
    problems.push(`failed: ${toRpcError(outcome.error).message}`);
    return problems;
  }
  const type = protocol.responseType(outcome.method);
  const compare = (what: string, actual: unknown, wanted: unknown) => {
    if (!isDeepStrictEqual(actual, wanted)) {
      problems.push(`${what} ${show(actual)} instead of ${show(wanted)}`);
    }
  };
  const tidy = (json: JsonObject) =>
    Object.fromEntries(
      Object.entries(normalizeJson(type, json)).map(([name, value]) => [
        name,
        expected.unordered?.includes(name) === true && Array.isArray(value)
          ? value.map(String).toSorted()
          : value,
      ]),
    );
  if (expected.reply !== undefined) {
    compare("reply", outcome.reply && tidy(outcome.reply), tidy(expected.reply));
  }
  if (expected.replies !== undefined) {
    compare("replies", outcome.replies?.map(tidy), expected.replies.map(tidy));
  }
  if (expected.stream !== undefined) {
    compare("stream", outcome.stream?.map(tidy), expected.stream.map(tidy));
  }
  if (expected.withinMs !== undefined && outcome.ms > expected.withinMs) {
    problems.push(`took ${outcome.ms} ms instead of ${expected.withinMs}`);
  }
  problems.push(...compareSchema(outcome.reply?.schema, expected));
  return problems;
}

function compareSchema(text: unknown, expected: StepExpectation): string[] {
  const { schema, schemaContains, schemaLacks } = expected;
  if (schema === undefined && schemaContains === undefined && schemaLacks === undefined) return [];
  const actual: unknown = JSON.parse(typeof text === "string" ? text : "null");
  const problems: string[] = [];
  if (schema !== undefined && !isDeepStrictEqual(pruned(actual), pruned(schema))) {
    problems.push(`schema ${show(actual)} instead of ${show(schema)}`);
  }
  if (schemaContains !== undefined && !contains(actual, schemaContains)) {
    problems.push(`schema ${show(actual)} does not contain ${show(schemaContains)}`);
  }
  for (const path of schemaLacks ?? []) {
    const found = path
      .split("/")
      .reduce<unknown>(
        (value, key) => (value as Record<string, unknown> | undefined)?.[key],
        actual,
      );
    if (found !== undefined) problems.push(`schema has ${path}`);
  }
  return problems;
}

/** Whether everything in `part` is in `whole`, members of objects by name, lists as they are. */
function contains(whole: unknown, part: unknown): boolean {
  if (typeof part !== "object" || part === null || Array.isArray(part)) {
    return isDeepStrictEqual(whole, part);
  }
  if (typeof whole !== "object" || whole === null) return false;
  return Object.entries(part).every(([key, value]) =>
    contains((whole as Record<string, unknown>)[key], value),
  );
}

/** Without members that are empty lists; empty objects say that something exists. */
function pruned(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(pruned);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => !(Array.isArray(member) && member.length === 0))
      .map(([key, member]) => [key, pruned(member)]),
  );
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? "nothing";
}
