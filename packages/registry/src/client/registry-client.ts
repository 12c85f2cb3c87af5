import { type Clock, systemClock } from "@stackwright/base/clock";
import { type ProviderAddress, requireExactVersion } from "@stackwright/provider-source";
import type { SigningCredentials } from "@stackwright/request-signing";
import { type CallOptions } from "@stackwright/storage";
import { RegistryError, type RegistryErrorCode } from "../errors.ts";
import { registryCode } from "../rfs/error-body.ts";
import { type ExchangeReply, type ExchangeRequest, SignedExchange } from "./signed-exchange.ts";

/** Options of {@link createRegistryClient}. */
export interface RegistryClientOptions {
  /** Origin of the registry: `https`, or `http` to this machine. */
  readonly url: string;
  /** The access key that requests are signed with. */
  readonly key: SigningCredentials;
  /** Authorities of the registry's certificate, in PEM. @default those of the system */
  readonly ca?: string | undefined;
  /** Longest time of one attempt, in milliseconds. @default 10_000 */
  readonly attemptMs?: number | undefined;
  /** Longest time of a call, attempts and pauses together, in milliseconds. @default 30_000 */
  readonly deadlineMs?: number | undefined;
  /** @default the process's */
  readonly clock?: Clock | undefined;
}

/** A version of a private provider as a registry elsewhere knows it. */
export interface RemotePrivateProvider {
  readonly providerId: string;
  /** Another one for another version of the same number. */
  readonly versionId: string;
  readonly functionUrn: string;
}

/** Says which version is meant; with `providerId`, of which provider of that name. */
export interface RemoteVersion {
  readonly name: string;
  readonly version: string;
  readonly providerId?: string;
}

/** From how much on a difference of clocks explains a refusal; signatures are valid for 15 minutes. */
const SKEW_MS = 14 * 60_000;
const LISTED = 10;

/**
 * Asks a registry elsewhere, with signed requests: what an engine needs to use the private providers that are registered
 * there.
 *
 * Methods reject with {@link RegistryError}: what the registry answers; `REGISTRY_UNAUTHENTICATED` with the reason, as far as it
 * can be seen from here (differing clocks); `REGISTRY_UNREACHABLE` when the deadline has passed; `REGISTRY_ANSWER_INVALID`
 * where something else is at the address. Messages never hold secrets.
 *
 * Source: seed 003 and the operations around it; our own API for uses.
 */
export class RegistryClient {
  readonly #exchange: SignedExchange;
  readonly #accessKey: string;

  constructor(options: RegistryClientOptions) {
    const { clock = systemClock, ...rest } = options;
    this.#exchange = new SignedExchange({ ...rest, clock });
    this.#accessKey = options.key.accessKey;
  }

  /** The registry's address. */
  get url(): string {
    return this.#exchange.origin;
  }

  /**
   * Finds what a template asks for. `REGISTRY_VERSION_NOT_FOUND` names the versions that there are; else as
   * `resolvePrivateProvider` of a registry.
   */
  async resolvePrivateProvider(
    source: ProviderAddress,
    version: string,
    { signal }: CallOptions = {},
  ): Promise<RemotePrivateProvider> {
    const exact = requireExactVersion(source, version).toString();
    const at = `${pathOf(source.type)}/versions`;
    try {
      const target = `${at}/${encodeURIComponent(exact)}/metadata`;
      const found = await this.#call({ method: "GET", target }, signal);
      const [providerId, functionUrn, createTime] = texts(found, [
        "provider_id",
        "function_graph_urn",
        "create_time",
      ]);
      // The API shows no id of a version; a version that came back was made at another time.
      return { providerId, functionUrn, versionId: `${providerId}/${exact}/${createTime}` };
    } catch (error) {
      if (!(error instanceof RegistryError)) throw error;
      const { code } = error;
      if (code === "REGISTRY_PROVIDER_NOT_FOUND") {
        throw this.#missing(code, `no private provider ${source.type}`, error);
      }
      if (code !== "REGISTRY_VERSION_NOT_FOUND") throw error;
      const list = await this.#call({ method: "GET", target: `${at}?limit=${LISTED}` }, signal);
      const known = versionsOf(list);
      const others = known.length === 0 ? "it has none" : `it has ${known.join(", ")}`;
      throw this.#missing(code, `no version ${exact} of ${source.type}; ${others}`, error);
    }
  }

  /**
   * Records a use of a version; idempotent. `REGISTRY_NOT_FOUND` where the registry keeps no uses.
   */
  async recordUsage(at: RemoteVersion, user: string, { signal }: CallOptions = {}): Promise<void> {
    const { providerId } = at;
    const body = { user, ...(providerId !== undefined && { provider_id: providerId }) };
    await this.#call({ method: "PUT", target: usesOf(at), body }, signal);
  }

  /** Versions of a provider that are in use. `REGISTRY_NOT_FOUND` where the registry keeps no uses. */
  async listUsage(name: string, user: string, { signal }: CallOptions = {}): Promise<string[]> {
    const target = `${nativePathOf(name)}/uses?user=${encodeURIComponent(user)}`;
    const { uses } = (await this.#call({ method: "GET", target }, signal)) as { uses?: unknown };
    if (!Array.isArray(uses)) {
      throw new RegistryError("REGISTRY_ANSWER_INVALID", "the answer has no uses");
    }
    return uses.flatMap((item: unknown) => {
      const { version, user: whose } = (item ?? {}) as Record<string, unknown>;
      // A registry that is older lists those of others, too.
      return typeof version === "string" && whose === user ? [version] : [];
    });
  }

  /** Forgets a use; harmless when there is none. */
  async deleteUsage(at: RemoteVersion, user: string, { signal }: CallOptions = {}): Promise<void> {
    const target = `${usesOf(at)}?user=${encodeURIComponent(user)}`;
    await this.#call({ method: "DELETE", target }, signal);
  }

  async #call(request: ExchangeRequest, signal: AbortSignal | undefined): Promise<unknown> {
    const reply = await this.#exchange.send(request, signal);
    const { status, body } = reply;
    const isAnswer = status === 204 || (typeof body === "object" && body !== null);
    if (status >= 200 && status < 300 && isAnswer) return body;
    throw this.#refusal(reply);
  }

  #refusal({ status, body, aheadMs }: ExchangeReply): RegistryError {
    const { code, message } = failureIn(body);
    if (code === undefined) {
      const text = `the response from ${this.url} is not from a Stackwright registry: status ${status}`;
      return new RegistryError("REGISTRY_ANSWER_INVALID", text);
    }
    if (code !== "REGISTRY_UNAUTHENTICATED") return new RegistryError(code, message);
    const refused = `the registry ${this.url} does not accept the access key ${this.#accessKey}`;
    if (aheadMs === undefined || Math.abs(aheadMs) < SKEW_MS) {
      const why = "it does not know the key, or the secret is another one";
      return new RegistryError(code, `${refused}: ${why}`);
    }
    const minutes = Math.round(Math.abs(aheadMs) / 60_000);
    const side = aheadMs > 0 ? "behind" : "ahead of";
    return new RegistryError(
      code,
      `${refused}: the clock of this machine is ${minutes} minutes ${side} the registry's, and a signature is valid for 15`,
    );
  }

  #missing(code: RegistryErrorCode, what: string, cause: RegistryError): RegistryError {
    return new RegistryError(code, `the registry ${this.url} has ${what}`, { cause });
  }
}

/** Makes a {@link RegistryClient}. Throws `REGISTRY_INVALID_FIELD` for an address that is none of a registry. */
export function createRegistryClient(options: RegistryClientOptions): RegistryClient {
  return new RegistryClient(options);
}

function pathOf(name: string): string {
  return `/v1/private-providers/${encodeURIComponent(name)}`;
}

function nativePathOf(name: string): string {
  return `/api/v1/registry/private-providers/${encodeURIComponent(name)}`;
}

function usesOf({ name, version }: RemoteVersion): string {
  return `${nativePathOf(name)}/versions/${encodeURIComponent(version)}/uses`;
}

/** Both faces of a registry have their own form of errors. */
function failureIn(body: unknown): { code?: RegistryErrorCode; message: string } {
  const { error_code: rfs, error_msg: text, error } = (body ?? {}) as Record<string, unknown>;
  if (typeof rfs === "string") {
    const code = registryCode(rfs);
    return { ...(code !== undefined && { code }), message: String(text) };
  }
  const { code, message } = (error ?? {}) as Record<string, unknown>;
  const known = typeof code === "string" ? registryCode(code) : undefined;
  return { ...(known !== undefined && { code: known }), message: String(message) };
}

function texts(body: unknown, names: readonly string[]): [string, string, string] {
  const members = names.map((name) => (body as Record<string, unknown>)[name]);
  const [one, two, three] = members;
  if (typeof one === "string" && typeof two === "string" && typeof three === "string") {
    return [one, two, three];
  }
  throw new RegistryError("REGISTRY_ANSWER_INVALID", `the answer has no ${names.join(", ")}`);
}

function versionsOf(body: unknown): string[] {
  const { versions } = body as { versions?: unknown };
  if (!Array.isArray(versions)) return [];
  return versions.flatMap((item: unknown) => {
    const { provider_version: version } = (item ?? {}) as Record<string, unknown>;
    return typeof version === "string" ? [version] : [];
  });
}
