import { CtyError, Path, type PathStep } from "@stackwright/cty";
import { ProviderFailure } from "../router/provider-failure.ts";

/** One step from a whole to its part: as a text for the user, and as a path where parts have one. */
export interface ContentStep {
  readonly text: string;
  /** Elements of a set have no place of their own: what fails in one is shown at the set. */
  readonly path: Path | undefined;
}

/**
 * JavaScript content that is no value of its type, or a value that has no content. The text says what was needed
 * and what kind of thing was there, never the content itself, which may be secret.
 */
export class ContentFailure extends ProviderFailure {
  readonly reason: string;
  /** Such as `tags["a"]`; empty for the whole. */
  readonly place: string;

  constructor(reason: string, place = "", path = Path.root, options: ErrorOptions = {}) {
    super("Content not usable", place === "" ? reason : `${place}: ${reason}`, {
      ...options,
      ...(path.length > 0 && { attribute: path }),
    });
    this.reason = reason;
    this.place = place;
  }

  static from(error: unknown): ContentFailure {
    if (error instanceof ContentFailure) return error;
    const reason = error instanceof Error ? error.message : String(error);
    const path = error instanceof CtyError ? (error.path ?? Path.root) : Path.root;
    return new ContentFailure(reason, textOf(path), addressable(path), { cause: error });
  }

  /** The same failure, seen from the whole that has it in one of its parts. */
  within({ text, path }: ContentStep): ContentFailure {
    const below = path && this.attribute ? path.concat(this.attribute) : path;
    return new ContentFailure(this.reason, join(text, this.place), below, { cause: this.cause });
  }
}

export const atMember = (name: string): ContentStep => ({
  text: name,
  path: Path.root.attribute(name),
});
export const atKey = (key: string): ContentStep => ({
  text: `[${JSON.stringify(key)}]`,
  path: Path.root.index(key),
});
export const atIndex = (index: number): ContentStep => ({
  text: `[${index}]`,
  path: Path.root.index(index),
});
export const atElement = (index: number): ContentStep => ({ text: `[${index}]`, path: undefined });

/** Runs the conversion of a part; its failure says where in the whole that is. */
export function convertPart<T>(step: ContentStep, convert: () => T): T {
  try {
    return convert();
  } catch (error) {
    throw ContentFailure.from(error).within(step);
  }
}

/** What a text names instead of the content. */
export function kindOf(content: unknown): string {
  if (content === null) return "null";
  if (typeof content !== "object")
    return content === undefined ? "undefined" : `a ${typeof content}`;
  if (Array.isArray(content)) return "an array";
  const prototype = Object.getPrototypeOf(content) as { constructor?: { name?: unknown } } | null;
  if (prototype === null || prototype === Object.prototype) return "an object";
  const name = prototype.constructor?.name;
  return typeof name === "string" && name !== "" ? `a ${name}` : "an object";
}

function join(whole: string, part: string): string {
  return part === "" || part.startsWith("[") ? `${whole}${part}` : `${whole}.${part}`;
}

function textOf(path: Path): string {
  return path.toString().replace(/^\./, "");
}

/** The path as far as it names one place. */
function addressable(path: Path): Path {
  const { steps } = path;
  const end = steps.findIndex((step: PathStep) => step.kind === "index" && !step.key.isKnown);
  return end === -1 ? path : Path.from(steps.slice(0, end));
}
