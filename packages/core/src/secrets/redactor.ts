import { inspect } from "node:util";
import { deepValues, Mark, type Value } from "@stackwright/cty";

/** The replacement of a secret. */
export const REDACTED = "(sensitive value)";

/** Options of {@link createRedactor}. */
interface RedactorOptions {
  /**
   * Secrets with fewer characters are not searched for: they would be found everywhere. @default 4
   */
  readonly minLength?: number;
}

/**
 * Takes the secrets of a run out of what leaves the engine as text: log lines, events, messages of errors.
 *
 * Found are: the secret itself; the same as part of a JSON text, a URL, in hexadecimal; base64 and base64url, also where
 * it is encoded together with what stands before and behind; and the long lines of a secret with several. Of one beyond
 * 256 Ki characters only the secret itself and its JSON text are. Not
 * found is what was changed otherwise, split over several texts that are not pieces of one, or is too short. The redactor is
 * the second line of defence: marked values are refused by the serialiser.
 */
export interface Redactor {
  /** Adds a secret text. */
  add(secret: string): void;
  /** Adds all texts and longer numbers within the sensitive parts of a value. */
  addValue(value: Value): void;
  /** The text without any secret. */
  redact(text: string): string;
  /**
   * The next piece of a text that arrives in lines or in parts of lines, without any part of a secret that continues
   * from piece to piece; of one that begins at the end of a piece, fewer than `minLength` characters may be left.
   */
  redactPiece(piece: string, before?: PartialSecretMatch): RedactedPiece;
  /** Passes another redactor all secrets that this one knows, and those that it learns later. */
  feed(other: Redactor): void;
  /** A JSON-like value with all texts redacted, keys included. Other objects become their texts. */
  redactData<T>(data: T): T;
  /** Whether it knows no secret, so that every text stays as it is. */
  readonly isEmpty: boolean;
}

/** Secrets that had begun when a piece of text ended: in which form, and how much of it has come. */
export type PartialSecretMatch = readonly { readonly form: string; readonly length: number }[];

/** A piece of text without secrets. */
interface RedactedPiece {
  readonly text: string;
  /** To be given with the next piece. */
  readonly unfinished: PartialSecretMatch;
}

/** A redactor that knows nothing yet. */
export function createRedactor(options: RedactorOptions = {}): Redactor {
  return new PatternRedactor(options.minLength ?? 4);
}

const LONG_LINE = 16;

type Begun = PartialSecretMatch[number];

/** How much of a piece belongs to what had begun before it. Records what has not ended in this piece either. */
function goOn(piece: string, before: PartialSecretMatch, unfinished: Begun[]): number {
  let hidden = 0;
  for (const { form, length } of before) {
    // The end of a line is between two pieces, unless a line was too long for one.
    const [end = ""] = /^\r?\n/.exec(form.slice(length, length + 2)) ?? [];
    for (const done of new Set([length, length + end.length])) {
      const left = form.length - done;
      if (left <= piece.length) {
        if (piece.startsWith(form.slice(done))) hidden = Math.max(hidden, left);
      } else if (form.startsWith(piece, done)) {
        hidden = piece.length;
        unfinished.push({ form, length: done + piece.length });
      }
    }
  }
  return hidden;
}

class PatternRedactor implements Redactor {
  readonly #minLength: number;
  readonly #secrets = new Set<string>();
  /** Secrets whose forms are not in the index yet: most runs redact nothing, and pay for no forms. */
  readonly #fresh = new Set<string>();
  /** Forms by their first characters, of which all have at least that many. */
  readonly #index = new Map<string, Set<string>>();
  readonly #prefix: number;
  /** The first characters of forms by what these begin with, for the ends of pieces that are shorter. */
  readonly #starts = new Map<string, Set<string>>();
  readonly #fed = new Set<Redactor>();

  constructor(minLength: number) {
    this.#minLength = Math.max(1, minLength);
    this.#prefix = Math.min(4, this.#minLength);
  }

  get isEmpty(): boolean {
    return this.#secrets.size === 0;
  }

  add(secret: string): void {
    if (secret.length < this.#minLength || this.#secrets.has(secret)) return;
    this.#secrets.add(secret);
    this.#fresh.add(secret);
    for (const other of this.#fed) other.add(secret);
  }

  feed(other: Redactor): void {
    if (other === this || this.#fed.has(other)) return;
    this.#fed.add(other);
    for (const secret of this.#secrets) other.add(secret);
  }

  addValue(value: Value): void {
    if (!value.containsMarks) return;
    // What contains a secret part holds it as a part of its own, so only whole sensitive parts are taken apart.
    for (const [, part] of deepValues(value)) {
      if (part.hasMark(Mark.sensitive) || part.hasMark(Mark.ephemeral)) this.#addAll(part);
    }
  }

  redact(text: string): string {
    if (this.isEmpty) return text;
    this.#learn();
    return this.#hide(text, 0);
  }

  redactPiece(piece: string, before: PartialSecretMatch = []): RedactedPiece {
    if (this.isEmpty) return { text: piece, unfinished: [] };
    this.#learn();
    const unfinished: Begun[] = [];
    const hidden = goOn(piece, before, unfinished);
    const text = this.#hide(piece, hidden, unfinished);
    for (let length = Math.min(this.#prefix - 1, piece.length); length > 0; length -= 1) {
      for (const start of this.#starts.get(piece.slice(-length)) ?? []) {
        for (const form of this.#index.get(start) ?? []) unfinished.push({ form, length });
      }
    }
    return { text, unfinished };
  }

  /** The text without its forms and its first `start` characters; with `begun`, also without those that begin at its end. */
  #hide(text: string, start: number, begun?: Begun[]): string {
    let rest = "";
    let shown = start;
    let hidden = start;
    // Forms may overlap, and nothing of either may be left: one stretch from the first to the last of them.
    for (let at = 0; at + this.#prefix <= text.length; at += 1) {
      const length = this.#lengthAt(text, at, begun);
      if (length === 0) continue;
      if (at >= hidden) {
        if (hidden > 0) rest += REDACTED;
        rest += text.slice(shown, at);
      }
      hidden = Math.max(hidden, at + length);
      shown = hidden;
    }
    return hidden === 0 ? text : rest + REDACTED + text.slice(shown);
  }

  /**
   * Length of the longest form that is at a position of a text, or that begins there and continues; 0 where there is
   * none.
   */
  #lengthAt(text: string, at: number, begun?: Begun[]): number {
    let longest = 0;
    const left = text.length - at;
    for (const form of this.#index.get(text.slice(at, at + this.#prefix)) ?? []) {
      if (form.length > longest && text.startsWith(form, at)) longest = form.length;
      if (begun === undefined || form.length <= left || !form.startsWith(text.slice(at))) continue;
      begun.push({ form, length: left });
      longest = left;
    }
    return longest;
  }

  #learn(): void {
    for (const secret of this.#fresh) {
      for (const form of formsOf(secret)) {
        if (form.length < this.#minLength) continue;
        const start = form.slice(0, this.#prefix);
        const forms = this.#index.get(start);
        if (forms !== undefined) {
          forms.add(form);
          continue;
        }
        this.#index.set(start, new Set([form]));
        for (let length = 1; length < this.#prefix; length += 1) {
          const shorter = start.slice(0, length);
          const starts = this.#starts.get(shorter);
          if (starts === undefined) this.#starts.set(shorter, new Set([start]));
          else starts.add(start);
        }
      }
    }
    this.#fresh.clear();
  }

  redactData<T>(data: T): T {
    return this.isEmpty ? data : (this.#data(data) as T);
  }

  #data(data: unknown): unknown {
    if (typeof data === "string") return this.redact(data);
    if (data === null || typeof data !== "object") return data;
    if (Array.isArray(data)) return data.map((item) => this.#data(item));
    if (data instanceof Map) {
      return new Map([...data].map(([key, value]) => [this.#data(key), this.#data(value)]));
    }
    const prototype: unknown = Object.getPrototypeOf(data);
    if (prototype !== Object.prototype && prototype !== null) {
      return this.redact(data instanceof Error ? (data.stack ?? data.message) : inspect(data));
    }
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [this.redact(key), this.#data(value)]),
    );
  }

  #addAll(secret: Value): void {
    for (const [, part] of deepValues(secret)) {
      const [plain] = part.unmark();
      if (!plain.isKnown || plain.isNull) continue;
      if (plain.type.kind === "string") this.add(plain.asString());
      if (plain.type.kind === "number") this.#addNumber(plain);
    }
  }

  #addNumber(number: Value): void {
    const text = number.asBigFloat().text();
    // Short numbers are part of every time and size.
    if (text.length >= 6) this.add(text);
  }
}

/** Of longer secrets only the most likely forms are searched for: all of them would be fifteen times as long. */
const LONG_SECRET = 256 * 1024;

function formsOf(secret: string): string[] {
  if (secret.length > LONG_SECRET) return [secret, JSON.stringify(secret).slice(1, -1)];
  const bytes = Buffer.from(secret, "utf8");
  const json = JSON.stringify(secret).slice(1, -1);
  const forms = [
    secret,
    json,
    // As encoders write it that escape for HTML too.
    json.replace(/[<>&]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`),
    JSON.stringify(json).slice(1, -1),
    ...urlForms(secret),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
  ];
  for (const line of secret.split(/\r?\n/)) if (line.length >= LONG_LINE) forms.push(line);
  return [...forms, ...base64Forms(bytes)];
}

/** Signs that an encoder leaves as they are: for the password of a user, for one part of a path, and for a whole path. */
const LEFT_IN_URLS = [/%(?:2[46BC]|3[BD])/g, /%(?:2[46B]|3[AD]|40)/g, /%(?:2[46BCF]|3[ABD]|40)/g];

/** What a secret looks like in a URL: encoders differ in the signs that they leave, and in how they write a space. */
function urlForms(secret: string): string[] {
  const most = encodeURIComponent(secret.toWellFormed());
  const all = most.replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const forms = LEFT_IN_URLS.map((left) => all.replace(left, decodeURIComponent));
  return [most, all, all.replaceAll("%20", "+"), ...forms];
}

/** What a secret looks like within a base64 text, at each of the three positions it can begin at. */
function base64Forms(bytes: Buffer): string[] {
  const forms: string[] = [];
  for (const shift of [0, 1, 2]) {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes]);
    const text = shifted.toString("base64").replace(/=+$/, "");
    // Characters at the edges hold bits of neighbours.
    const start = Math.ceil((shift * 8) / 6);
    const inner = text.slice(start, Math.floor((shifted.length * 8) / 6));
    // Too short a piece would be found by chance.
    if (inner.length >= 6) forms.push(inner, inner.replaceAll("+", "-").replaceAll("/", "_"));
  }
  return forms;
}
