import { encodeJson, unmarkDeep } from "@stackwright/cty";
import type { Expression } from "../syntax/ast.ts";
import { type Diagnostic, hasErrors } from "../syntax/diagnostic.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import {
  type ConfigBody,
  type ContentAttribute,
  type ContentBlock,
  readAttributes,
  readBody,
} from "./body-content.ts";
import type { EarlyScope } from "./early-scope.ts";
import { parseConfigBody } from "./parse-config-body.ts";
import { rangeOf, StaticReader, withoutEarlyValues } from "./static-reader.ts";

/** An `encryption` block of the root module (OpenTofu). */
export interface EncryptionConfig {
  readonly range: SourceRange;
  /** The whole body, secrets included; {@link stateEncryption} reads it. */
  readonly body: ConfigBody;
  /** What its arguments may refer to: variables and locals, which are evaluated early. */
  readonly early?: EarlyScope;
}

/** A `key_provider` or `method` block: what it is made with, as JSON, and what it refers to. */
export interface EncryptionBlock {
  /** Such as `pbkdf2`, `aes_gcm`. */
  readonly type: string;
  readonly name: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** Names of other parts by argument: `keys` of a method, `chain` of a key provider. */
  readonly references: ReadonlyMap<string, string>;
}

/** How OpenTofu encrypts the states of a root module. */
export interface StateEncryption {
  /** By reference, such as `key_provider.pbkdf2.name`. */
  readonly keyProviders: ReadonlyMap<string, EncryptionBlock>;
  /** By reference, such as `method.aes_gcm.name`. */
  readonly methods: ReadonlyMap<string, EncryptionBlock>;
  /** References to the method that states are written with, and to those that may have written them; none: not encrypted. */
  readonly state: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Arguments that are references to other parts. */
const REFERENCES = new Set(["keys", "chain"]);

/**
 * Reads how states are encrypted: from the block of the configuration, and over it from the text of `TF_ENCRYPTION`, in native
 * syntax or JSON. Values may be sensitive. What plans and data sources of other states use is left out.
 */
export function stateEncryption(
  body: ConfigBody | undefined,
  { text = "", early }: { readonly text?: string | undefined; readonly early?: EarlyScope },
): StateEncryption {
  const diagnostics: Diagnostic[] = [];
  const bodies: ConfigBody[] = body === undefined ? [] : [body];
  if (text.trim() !== "") {
    const name = `TF_ENCRYPTION${text.trim().startsWith("{") ? ".json" : ""}`;
    bodies.push(parseConfigBody({ name, text }, diagnostics));
  }
  const reading = new Reading(early, diagnostics);
  for (const inner of bodies) reading.read(inner);
  return { ...reading.found(), diagnostics };
}

class Reading {
  readonly #early: EarlyScope | undefined;
  readonly #diagnostics: Diagnostic[];
  readonly #keyProviders = new Map<string, EncryptionBlock>();
  readonly #methods = new Map<string, EncryptionBlock>();
  #state: readonly string[] = [];
  #fallbacks: readonly string[] = [];
  #isEnforced = false;

  constructor(early: EarlyScope | undefined, diagnostics: Diagnostic[]) {
    this.#early = early;
    this.#diagnostics = diagnostics;
  }

  /** A method that is missing or forbidden is an error: what is written with another one may be in the clear. */
  found(): Omit<StateEncryption, "diagnostics"> {
    const [method] = this.#state;
    if (method === undefined && (this.#fallbacks.length > 0 || this.#isEnforced)) {
      this.#fail(
        "Method of encryption required",
        'The block "state" says how states were encrypted, or that they must be, and has no "method". Where TF_ENCRYPTION has it, set that.',
      );
    }
    const state = [...new Set([...this.#state, ...this.#fallbacks])];
    const open = state.find((name) => name.startsWith("method.unencrypted."));
    if (this.#isEnforced && open !== undefined) {
      this.#fail(
        "Unencrypted states forbidden",
        `"enforced" of the block "state" forbids ${open}, also as a fallback.`,
      );
    }
    return { keyProviders: this.#keyProviders, methods: this.#methods, state };
  }

  read(body: ConfigBody): void {
    const { blocks } = readBody(
      body,
      {
        blocks: {
          key_provider: ["type", "name"],
          method: ["type", "name"],
          state: [],
          plan: [],
          remote_state_data_sources: [],
        },
      },
      this.#diagnostics,
    );
    for (const inner of blocks) {
      if (inner.type === "key_provider") this.#part(inner, this.#keyProviders);
      if (inner.type === "method") this.#part(inner, this.#methods);
      if (inner.type === "state") this.#target(inner);
    }
  }

  /** One that is there already keeps the arguments that are not given again. */
  #part({ type: kind, labels, body }: ContentBlock, parts: Map<string, EncryptionBlock>): void {
    const [type = "", name = ""] = labels.map(({ value }) => value);
    const key = `${kind}.${type}.${name}`;
    const earlier = parts.get(key);
    const values: Record<string, unknown> = { ...earlier?.values };
    const references = new Map(earlier?.references);
    for (const attribute of readAttributes(body, this.#diagnostics, {}).values()) {
      if (REFERENCES.has(attribute.name)) {
        const reference = this.#reference(attribute);
        if (reference !== undefined) references.set(attribute.name, reference);
        continue;
      }
      const value = this.#value(attribute.expression);
      if (value !== undefined) values[attribute.name] = value;
    }
    parts.set(key, { type, name, values, references });
  }

  #target({ body }: ContentBlock): void {
    const { attributes, blocks } = readBody(
      body,
      { attributes: ["method", "enforced"], blocks: { fallback: [] } },
      this.#diagnostics,
    );
    const method = this.#reference(attributes.get("method"));
    if (method !== undefined) this.#state = [method];
    const enforced = attributes.get("enforced");
    if (enforced !== undefined && this.#value(enforced.expression) === true) {
      this.#isEnforced = true;
    }
    if (blocks.length > 0) this.#fallbacks = blocks.flatMap((block) => this.#fallback(block));
  }

  /** A fallback may have one of its own. */
  #fallback({ body }: ContentBlock): string[] {
    const { attributes, blocks } = readBody(
      body,
      { attributes: ["method"], blocks: { fallback: [] } },
      this.#diagnostics,
    );
    const method = this.#reference(attributes.get("method"));
    const own = method === undefined ? [] : [method];
    return [...own, ...blocks.flatMap((block) => this.#fallback(block))];
  }

  #fail(summary: string, detail: string): void {
    this.#diagnostics.push({ severity: "error", code: "LANG_CONFIG", summary, detail });
  }

  #value(expression: Expression): unknown {
    const early = this.#early;
    const reader = new StaticReader(
      [],
      early && ((inner) => early.evaluateSecret(inner, "the encryption of states")),
    );
    const value = reader.literal(expression);
    const { diagnostics: found } = reader;
    this.#diagnostics.push(...(early ? found : found.map(withoutEarlyValues)));
    if (value === undefined || hasErrors(found)) return undefined;
    const [plain] = unmarkDeep(value);
    return JSON.parse(encodeJson(plain, plain.type)) as unknown;
  }

  #reference(attribute: ContentAttribute | undefined): string | undefined {
    if (attribute === undefined) return undefined;
    const reader = new StaticReader(this.#diagnostics);
    const found = reader.reference(attribute.expression);
    if (found === undefined) return undefined;
    const names = found.steps.map((step) => (step.kind === "attribute-step" ? step.name : ""));
    if (names.length !== 2 || names.includes("")) {
      const detail = `"${attribute.name}" names a block by its type and its name, as in method.aes_gcm.example.`;
      reader.fail("Invalid reference", detail, rangeOf(attribute.expression));
      return undefined;
    }
    return [found.root, ...names].join(".");
  }
}
