import { TfstateError } from "../errors.ts";

/** A value of a backend argument, as JSON. */
export type ArgumentValue =
  | string
  | number
  | boolean
  | null
  | readonly ArgumentValue[]
  | { readonly [name: string]: ArgumentValue };

/** The members of a backend configuration: what the block, the record of init and `-backend-config` say together. */
export type ArgumentValues = Readonly<Record<string, ArgumentValue>>;

/**
 * Reads the arguments of a backend. An argument that is not set is taken from the first environment variable that is; an
 * empty text counts as not set, as in the reference command.
 */
export class BackendArguments {
  readonly type: string;
  readonly #values: ArgumentValues;
  readonly #env: NodeJS.ProcessEnv;

  constructor(type: string, values: ArgumentValues, env: NodeJS.ProcessEnv) {
    this.type = type;
    this.#values = values;
    this.#env = env;
  }

  /** Undefined where it is not set. */
  text(name: string, ...variables: readonly string[]): string | undefined {
    const value = this.#values[name];
    if (typeof value === "string" && value !== "") return value;
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    if (value !== undefined && value !== null && value !== "") {
      throw this.invalid(`"${name}" is not a valid argument: a string is required`);
    }
    return variables
      .map((variable) => this.#env[variable])
      .find((text) => text !== undefined && text !== "");
  }

  /** Whether it is the empty text, for the few arguments that mean something by it. */
  isEmpty(name: string): boolean {
    return this.#values[name] === "";
  }

  /** `TFSTATE_BACKEND_INVALID` where it is not set. */
  need(name: string, ...variables: readonly string[]): string {
    const text = this.text(name, ...variables);
    if (text !== undefined) return text;
    const others = variables.length === 0 ? "" : ` or set ${variables.join(", ")}`;
    throw this.invalid(
      `the argument "${name}" is missing; pass -backend-config="${name}=VALUE"${others}`,
    );
  }

  flag(name: string, ...variables: readonly string[]): boolean | undefined {
    const text = this.text(name, ...variables)?.toLowerCase();
    if (text === undefined) return undefined;
    if (["1", "t", "true"].includes(text)) return true;
    if (["0", "f", "false"].includes(text)) return false;
    throw this.invalid(`"${text}" is not a valid value of "${name}": true or false is required`);
  }

  number(name: string, ...variables: readonly string[]): number | undefined {
    const text = this.text(name, ...variables);
    if (text === undefined) return undefined;
    const number = Number(text);
    if (Number.isSafeInteger(number)) return number;
    throw this.invalid(`"${text}" is not a valid value of "${name}": a whole number is required`);
  }

  texts(name: string): readonly string[] | undefined {
    const value = this.#values[name];
    if (value === undefined || value === null) return undefined;
    if (!Array.isArray(value) || value.some((item) => typeof item !== "string")) {
      throw this.invalid(`"${name}" is not a valid argument: a list of strings is required`);
    }
    return value as readonly string[];
  }

  /** A map of strings. */
  map(name: string): Readonly<Record<string, string>> | undefined {
    const value = this.#object(name);
    if (value === undefined) return undefined;
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, item]) =>
        typeof item === "object" ? [] : [[key, String(item)]],
      ),
    );
  }

  /** A nested block or object; undefined where it is not set. The record of init has blocks as lists. */
  block(name: string): BackendArguments | undefined {
    const value = this.#object(name);
    return value === undefined
      ? undefined
      : new BackendArguments(`${this.type}.${name}`, value, this.#env);
  }

  invalid(problem: string): TfstateError {
    return new TfstateError("TFSTATE_BACKEND_INVALID", `backend "${this.type}": ${problem}`);
  }

  #object(name: string): ArgumentValues | undefined {
    const value = this.#values[name];
    const single = Array.isArray(value) ? value[0] : value;
    if (single === undefined || single === null) return undefined;
    if (typeof single === "object" && !Array.isArray(single)) return single as ArgumentValues;
    throw this.invalid(`"${name}" is not a valid argument: an object is required`);
  }
}
