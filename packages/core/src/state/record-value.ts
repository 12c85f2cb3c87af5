import {
  decodeJson,
  encodeJson,
  Mark,
  Marks,
  markWithPaths,
  Path,
  PathSet,
  type PathStep,
  type Type,
  unmarkDeepWithPaths,
  type Value,
} from "@stackwright/cty";
import { EngineError } from "../errors.ts";
import type { JsonPath } from "../secrets/json-parts.ts";
import type { RecordedValue } from "./state-object.ts";

/** Options of {@link recordValue}. */
interface RecordOptions {
  readonly schemaVersion: number;
  /** Secret parts in addition to the marked ones: those of the schema or the provider's reply. */
  readonly sensitive?: readonly Path[];
  /** As {@link RecordedValue.writer} says. */
  readonly writer?: string | undefined;
}

/**
 * The one serialiser of values that may be marked. The secret parts go into the record as paths, and from there into
 * the store only encrypted; nothing else turns a marked value into bytes.
 *
 * `ENGINE_SECRET_EXPOSED` for ephemeral values, which must not be stored at all. `CtyError` when the value is not
 * wholly known or does not fit the type.
 */
export function recordValue(value: Value, type: Type, options: RecordOptions): RecordedValue {
  const [plain, marked] = unmarkDeepWithPaths(value);
  const sensitive: Path[] = [...(options.sensitive ?? [])];
  for (const { path, marks } of marked) {
    if (marks.hasKind(Mark.ephemeral.kind)) {
      throw new EngineError(
        "ENGINE_SECRET_EXPOSED",
        `the value at "${path.toString()}" is ephemeral and cannot be stored`,
      );
    }
    if (marks.hasKind(Mark.sensitive.kind)) sensitive.push(path);
  }
  return {
    schemaVersion: options.schemaVersion,
    json: encodeJson(plain, type),
    sensitive: storablePaths(sensitive),
    ...(options.writer !== undefined && { writer: options.writer }),
  };
}

/** The value of a record, with its secret parts marked. `CtyError` when it does not fit the type. */
export function restoreValue(recorded: RecordedValue, type: Type): Value {
  const value = decodeJson(recorded.json, type);
  const marks = Marks.of(Mark.sensitive);
  return markWithPaths(
    value,
    recorded.sensitive.map((path) => ({ path, marks })),
  );
}

/**
 * Each path once, cut where it enters a set, in the order of their texts. One below another stays: whether a part of a
 * secret is a secret of its own is planned as a difference, so it must be found again as it was recorded.
 */
export function storablePaths(paths: readonly Path[]): readonly Path[] {
  const kept = [...new PathSet(paths.map(storablePath))];
  return kept.length < 2 ? kept : kept.sort((a, b) => (a.toString() < b.toString() ? -1 : 1));
}

/** The path up to the first step that cannot be written down: an element of a set, or any element. */
function storablePath(path: Path): Path {
  const steps: PathStep[] = [];
  for (const step of path.steps) {
    if (step.kind === "index" && jsonKey(step.key) === undefined) break;
    steps.push(step);
  }
  return steps.length === path.length ? path : Path.from(steps);
}

/** The place in a value's JSON text that a storable path leads to. */
export function jsonPathOf(path: Path): JsonPath {
  const steps: (string | number)[] = [];
  for (const step of path.steps) {
    const key = step.kind === "attribute" ? step.name : jsonKey(step.key);
    if (key === undefined) break;
    steps.push(key);
  }
  return steps;
}

function jsonKey(key: Value): string | number | undefined {
  const [plain] = key.unmark();
  if (!plain.isKnown || plain.isNull) return undefined;
  if (plain.type.kind === "string") return plain.asString();
  if (plain.type.kind !== "number") return undefined;
  const position = Number(plain.asBigFloat().text());
  return Number.isSafeInteger(position) && position >= 0 ? position : undefined;
}
