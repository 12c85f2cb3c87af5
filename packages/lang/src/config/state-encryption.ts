import { append } from "@stackwright/base/append";
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
  /** The same of states that `terraform_remote_state` reads; with the empty name of those that none is named for. */
  readonly remoteStates: ReadonlyMap<string, readonly string[]>;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * The methods of the state that a `terraform_remote_state` reads; none: it is not encrypted. A block names a data source by its name with its key, in a module behind the
 * address of that without `module.` at the beginning: `network`, `network[0]`, `child.network`.
 *
 * @param address of the instance: `module.child.data.terraform_remote_state.network`
 */
export function remoteStateMethods(
  { remoteStates }: Pick<StateEncryption, "remoteStates">,
  address: string,
): readonly string[] {
  const name = address.replace("data.terraform_remote_state.", "").replace(/^module\./, "");
  return remoteStates.get(name) ?? remoteStates.get("") ?? [];
}

/** Arguments that are references to other parts. */
const REFERENCES = new Set(["keys", "chain"]);

/**
 * Reads how states are encrypted: from the block of the configuration, and over it from the text of `TF_ENCRYPTION`, in native
 * syntax or JSON. Values may be sensitive. What plans use is left out.
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

/** What a block says of the states that it is about; one in a later text is added to it. */
class MethodTarget {
  method: string | undefined;
  fallbacks: readonly string[] = [];
  isEnforced = false;
}

class Reading {
  readonly #early: EarlyScope | undefined;
  readonly #diagnostics: Diagnostic[];
  readonly #keyProviders = new Map<string, EncryptionBlock>();
  readonly #methods = new Map<string, EncryptionBlock>();
  readonly #state = new MethodTarget();
  readonly #remoteStates = new Map<string, MethodTarget>();

  constructor(early: EarlyScope | undefined, diagnostics: Diagnostic[]) {
    this.#early = early;
    this.#diagnostics = diagnostics;
  }

  /** A method that is missing or forbidden is an error: what is written with another one may be in the clear. */
  found(): Omit<StateEncryption, "diagnostics"> {
    return {
      keyProviders: this.#keyProviders,
      methods: this.#methods,
      state: this.#methodsOf(this.#state, "state"),
      remoteStates: new Map(
        Array.from(this.#remoteStates, ([name, target]) => [
          name,
          this.#methodsOf(target, name === "" ? "default" : "remote_state_data_source"),
        ]),
      ),
    };
  }

  #methodsOf({ method, fallbacks, isEnforced }: MethodTarget, block: string): readonly string[] {
    if (method === undefined && (fallbacks.length > 0 || isEnforced)) {
      this.#fail(
        "Method of encryption required",
        `The block "${block}" says how states were encrypted, or that they must be, and has no "method". Where TF_ENCRYPTION has it, set that.`,
      );
    }
    const methods = [...new Set([...(method === undefined ? [] : [method]), ...fallbacks])];
    const open = methods.find((name) => name.startsWith("method.unencrypted."));
    if (isEnforced && open !== undefined) {
      this.#fail(
        "Unencrypted states forbidden",
        `"enforced" of the block "${block}" forbids ${open}, also as a fallback.`,
      );
    }
    return methods;
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
      if (inner.type === "state") this.#target(inner, this.#state);
      if (inner.type === "remote_state_data_sources") this.#remote(inner);
    }
  }

  #remote({ body }: ContentBlock): void {
    const { blocks } = readBody(
      body,
      { blocks: { default: [], remote_state_data_source: ["name"] } },
      this.#diagnostics,
    );
    for (const inner of blocks) {
      const name = inner.labels[0]?.value ?? "";
      const target = this.#remoteStates.get(name) ?? new MethodTarget();
      this.#remoteStates.set(name, target);
      this.#target(inner, target);
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

  #target({ body }: ContentBlock, target: MethodTarget): void {
    const { attributes, blocks } = readBody(
      body,
      { attributes: ["method", "enforced"], blocks: { fallback: [] } },
      this.#diagnostics,
    );
    const method = this.#reference(attributes.get("method"));
    if (method !== undefined) target.method = method;
    const enforced = attributes.get("enforced");
    if (enforced !== undefined && this.#value(enforced.expression) === true) {
      target.isEnforced = true;
    }
    if (blocks.length > 0) target.fallbacks = blocks.flatMap((block) => this.#fallback(block));
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
    append(this.#diagnostics, early ? found : found.map(withoutEarlyValues));
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
