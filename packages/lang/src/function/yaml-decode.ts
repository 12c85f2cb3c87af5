import { createRequire } from "node:module";
import { CtyError, Type, Value } from "@stackwright/cty";
import type * as Yaml from "yaml";
import type { Alias, Document, Node, Scalar } from "yaml";
import { decodeBase64 } from "./base64.ts";
import { invalidArgument } from "./parameter.ts";
import { formatTimestamp, parseTimestamp } from "./timestamp.ts";

const load = createRequire(import.meta.url);

/** The parser: loaded at the first document, since its modules are a tenth of what a command without `yamldecode` loads. */
const parser = (): typeof Yaml => load("yaml") as typeof Yaml;

/** Most nodes of one document, aliases counted as what they stand for. */
const MAX_NODES = 100_000;
/** Deepest nesting of one document. */
const MAX_DEPTH = 200;

const INTEGER = /^[-+]?[0-9]+$/;
const BASED = /^([-+]?)0([xo])([0-9A-Fa-f]+)$/;
const FRACTION = /^[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$/;
const TRUE = new Set(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"]);
const FALSE = new Set(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"]);
const NULL = new Set(["", "~", "null", "Null", "NULL"]);
const DATE = /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}$/;
const DATE_TIME =
  /^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:[Tt]|[ \t]+)([0-9]{1,2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]*)?)(?:[ \t]*(Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?$/;

/**
 * The value of one YAML document: mappings become objects, sequences tuples, plain scalars what they
 * look like. Of equal keys the last one counts; `<<` merges. Times become RFC 3339 strings.
 */
export function decodeYaml(source: string): Value {
  const documents = parser().parseAllDocuments(source, {
    schema: "failsafe",
    uniqueKeys: false,
    strict: true,
    logLevel: "silent",
    merge: false,
  });
  const [document, second] = Array.isArray(documents) ? documents : [];
  if (document === undefined || document.contents === null) {
    return invalidArgument("missing start of document");
  }
  if (second !== undefined) invalidArgument("unexpected extra content after value");
  const [problem] = document.errors;
  // The parser says so of what is nested too deeply for its recursion.
  if (problem?.code === "RESOURCE_EXHAUSTION") tooDeep();
  if (problem !== undefined) invalidArgument(problem.message.split("\n")[0] ?? "invalid YAML");
  return new Decoder(document).value(document.contents, 0);
}

function tooDeep(): never {
  return invalidArgument(`a document may be nested at most ${MAX_DEPTH} levels deep`);
}

class Decoder {
  readonly #document: Document;
  readonly #yaml = parser();
  readonly #open = new Set<Node>();
  #nodes = 0;

  constructor(document: Document) {
    this.#document = document;
  }

  value(node: unknown, depth: number): Value {
    if (++this.#nodes > MAX_NODES)
      invalidArgument(`a document may have at most ${MAX_NODES} nodes`);
    if (depth > MAX_DEPTH) tooDeep();
    if (node === null || node === undefined) return Value.null(Type.dynamic);
    const { isAlias, isMap, isScalar, isSeq } = this.#yaml;
    if (isAlias(node)) return this.#alias(node, depth);
    if (isScalar(node)) return scalar(node);
    if (isSeq(node)) {
      checkTag(node.tag, "tag:yaml.org,2002:seq", "sequence");
      return this.#within(node, () =>
        Value.tuple(node.items.map((item) => this.value(item, depth + 1))),
      );
    }
    if (isMap(node)) {
      checkTag(node.tag, "tag:yaml.org,2002:map", "mapping");
      return this.#within(node, () => Value.object(this.#members(node.items, depth)));
    }
    return invalidArgument("unsupported YAML content");
  }

  /** Evaluates a node; while it is open an alias must not refer to it. */
  #within(node: Node, run: () => Value): Value {
    this.#open.add(node);
    const value = run();
    this.#open.delete(node);
    return value;
  }

  #alias(node: Alias, depth: number): Value {
    const target = node.resolve(this.#document);
    if (target === undefined)
      return invalidArgument(`reference to undefined anchor "${node.source}"`);
    if (this.#open.has(target)) {
      invalidArgument(`cannot refer to anchor "${node.source}" from inside its own definition`);
    }
    return this.value(target, depth);
  }

  #members(
    items: readonly { readonly key: unknown; readonly value: unknown }[],
    depth: number,
  ): Map<string, Value> {
    const members = new Map<string, Value>();
    for (const { key, value } of items) {
      if (this.#yaml.isScalar(key) && key.source === "<<" && key.type === "PLAIN") {
        for (const [name, merged] of this.#merged(value, depth)) {
          if (!members.has(name)) members.set(name, merged);
        }
        continue;
      }
      members.set(this.#key(key, depth), this.value(value, depth + 1));
    }
    return members;
  }

  #merged(node: unknown, depth: number): Iterable<readonly [string, Value]> {
    const value = this.value(node, depth + 1);
    if (value.type.kind === "object" && !value.isNull) return value.entries();
    if (value.type.kind !== "tuple") return invalidArgument("only mappings can be merged");
    return value.elements().flatMap((element) => {
      if (element.type.kind !== "object") invalidArgument("only mappings can be merged");
      return [...element.entries()];
    });
  }

  #key(node: unknown, depth: number): string {
    const key = this.value(node, depth + 1);
    if (key.isNull) return invalidArgument("a key must not be null");
    switch (key.type.kind) {
      case "string":
        return key.asString();
      case "number":
        return key.asBigFloat().toString();
      case "bool":
        return String(key.asBoolean());
      case "capsule":
      case "dynamic":
      case "list":
      case "map":
      case "object":
      case "set":
      case "tuple":
      default:
        return invalidArgument("only scalars can be keys");
    }
  }
}

function checkTag(tag: string | undefined, standard: string, what: string): void {
  if (tag === undefined || tag === "!" || tag === standard) return;
  invalidArgument(`can't interpret ${what} as ${tag}`);
}

function scalar(node: Scalar): Value {
  const source = node.source ?? "";
  const written = typeof node.value === "string" ? node.value : source;
  const plain = node.type === "PLAIN" || node.type === undefined;
  switch (node.tag) {
    case undefined:
    case "":
      return plain ? plainScalar(source) : Value.string(written);
    case "!":
    case "tag:yaml.org,2002:str":
      return Value.string(written);
    case "tag:yaml.org,2002:null":
      return NULL.has(written) ? Value.null(Type.dynamic) : wrongTag(written, "null");
    case "tag:yaml.org,2002:bool":
    case "tag:yaml.org,2002:int":
    case "tag:yaml.org,2002:float":
      return plain ? plainScalar(source) : Value.string(written);
    case "tag:yaml.org,2002:timestamp":
      return timestamp(written) ?? wrongTag(written, "timestamp");
    case "tag:yaml.org,2002:binary": {
      const bytes = decodeBase64(written.replace(/\s/g, ""));
      if (bytes === undefined) return wrongTag(written, "base64 data");
      return Value.string(Buffer.from(bytes).toString("base64"));
    }
    default:
      return invalidArgument(`unsupported tag "${node.tag}"`);
  }
}

function wrongTag(written: string, what: string): never {
  return invalidArgument(`cannot interpret ${JSON.stringify(written.slice(0, 40))} as ${what}`);
}

/** What a scalar without quotes looks like. */
function plainScalar(text: string): Value {
  if (NULL.has(text)) return Value.null(Type.dynamic);
  if (TRUE.has(text)) return Value.true;
  if (FALSE.has(text)) return Value.false;
  if (INTEGER.test(text) || FRACTION.test(text)) return number(text);
  const based = BASED.exec(text);
  if (based !== null) {
    const [, sign = "", letter = "", digits = ""] = based;
    if (letter === "x" || /^[0-7]+$/.test(digits)) {
      const magnitude = BigInt(`0${letter}${digits}`);
      return Value.number(sign === "-" ? -magnitude : magnitude);
    }
  }
  if (/^[-+]?\.(?:inf|Inf|INF)$/.test(text)) {
    return text.startsWith("-") ? Value.negativeInfinity : Value.positiveInfinity;
  }
  if (/^\.(?:nan|NaN|NAN)$/.test(text)) invalidArgument("floating point NaN is not supported");
  return timestamp(text) ?? Value.string(text);
}

function number(text: string): Value {
  try {
    const dotted = text
      .replace(/^\+/, "")
      .replace(/^(-?)\./, "$10.")
      .replace(/\.(?=[eE]|$)/, "");
    return Value.parseNumber(dotted);
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    return invalidArgument("a number is out of range");
  }
}

/** A time in one of YAML's forms as an RFC 3339 string. */
function timestamp(text: string): Value | undefined {
  const two = (part: string | undefined): string => (part ?? "").padStart(2, "0");
  if (DATE.test(text)) {
    const [year, month, day] = text.split("-");
    const midnight = `${year}-${two(month)}-${two(day)}T00:00:00Z`;
    return parseTimestamp(midnight) === undefined ? undefined : Value.string(midnight);
  }
  const match = DATE_TIME.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second = "", zone = "Z"] = match;
  const offset =
    zone === "Z"
      ? "Z"
      : zone.replace(
          /^([-+])([0-9]{1,2})(?::?([0-9]{2}))?$/,
          (_, sign: string, hours: string, minutes?: string) =>
            `${sign}${two(hours)}:${two(minutes ?? "00")}`,
        );
  const [whole, fraction = ""] = second.split(".");
  const parsed = parseTimestamp(
    `${year}-${two(month)}-${two(day)}T${two(hour)}:${minute}:${whole}${offset}`,
  );
  if (parsed === undefined) return undefined;
  const digits = fraction.replace(/(?<!0)0+$/, "").slice(0, 9);
  const formatted = formatTimestamp(parsed);
  return Value.string(
    digits === "" ? formatted : formatted.replace(/(:[0-9]{2})(Z|[-+][0-9:]+)$/, `$1.${digits}$2`),
  );
}
