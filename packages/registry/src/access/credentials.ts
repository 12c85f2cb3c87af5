import { randomBytes } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import { KeyedMutex } from "@stackwright/base/keyed-mutex";
import type {
  CredentialCount,
  AccessKey as KeyMessage,
  AccessToken as TokenMessage,
} from "@stackwright/proto/stackwright";
import { type BatchOperation, isStorageError, WILDCARD } from "@stackwright/storage";
import {
  deleteOperation,
  type RecordName,
  type RecordStore,
  type StoredRecord,
  writeOperation,
} from "../domain/record-store.ts";
import { retryCollisions } from "../domain/retry-collisions.ts";
import { checkAccount, SYSTEM_TENANCY } from "../domain/scope.ts";
import { invalidField, RegistryError } from "../errors.ts";
import { CredentialCache } from "./credential-cache.ts";
import {
  type CountedCredential,
  countAt,
  countOf,
  MAX_OF_OWNER,
  ownerOf,
} from "./credential-owner.ts";
import type { KeyRing } from "./key-ring.ts";
import { limitedTo } from "./limited-to.ts";
import { isRole, type Role } from "./principal.ts";
import { nameOfRole, rolesNamed } from "./role-names.ts";
import { KIND_SETS, type TokenStorageScope } from "./storage-scopes.ts";
import {
  ACCESS_KEY,
  type Credential,
  credentialOf,
  digestOf,
  isAccessKey,
  isTokenId,
  keyAt,
  storedScope,
  TOKEN,
  TOKEN_ID,
  tokenAt,
  tokenIdOf,
} from "./stored-credential.ts";

/** What is authenticated with the secret of an access key. */
export function purposeOfAccessKey(accessKey: string): string {
  return `access-key\0${accessKey}`;
}

/** What a credential is made from. */
export interface NewCredential {
  readonly account: string;
  readonly roles: readonly Role[];
  /** Projects that requests may select. @default all of the account */
  readonly projects?: readonly string[] | undefined;
  /** Stacks that a token is limited to, as PROJECT/STACK. @default all of its projects */
  readonly stacks?: readonly string[] | undefined;
  /** The user whose rights a token has, as far as its roles and projects allow. @default none: it stands for itself */
  readonly user?: string | undefined;
  /** Id of the token that it is made with. @default none */
  readonly parent?: string | undefined;
  readonly description?: string | undefined;
  /** When it ceases to be valid, in ms since the Unix epoch. @default never */
  readonly expireTimeMs?: number | undefined;
}

/** Options of {@link CredentialStore}. */
export interface CredentialStoreOptions {
  readonly records: RecordStore;
  readonly keys: KeyRing;
  readonly clock: Clock;
  /** How long a credential is kept in memory, and so how late a change counts. @default 1,000 */
  readonly cacheMs?: number | undefined;
  /**
   * What a token of a user may do now; undefined for one that may not be used. Without it such tokens are refused.
   */
  readonly rightsOf?: ((token: Credential) => Promise<Credential | undefined>) | undefined;
}

const SECRET_FORM = /^[A-Za-z0-9_-]{16,128}$/;
const TOKEN_FORM = /^sw_[A-Za-z0-9_-]{43}$/;
/** How many tokens may be made one with another: each is read for every request of the last one. */
const MAX_PARENTS = 4;
const REVOKE_ATTEMPTS = 5;
const USE_RECORDED_MS = 3_600_000;

// The secret of an access key is needed in the clear to verify a signature, so it is stored encrypted,
// bound to its key's name. A token is only ever compared, so its digest is enough: 256 random bits need
// no salt and no slow hash.

/** A token as it is stored, apart from the limits of its parents. */
interface StoredToken {
  readonly principal: Credential;
  readonly scopes: readonly TokenStorageScope[];
  readonly parent: string;
}

/** An access key, in the same way. */
interface StoredKey {
  readonly principal: Credential;
  readonly secret: string;
  readonly parent: string;
}

/** Access keys and tokens of all accounts. */
export class CredentialStore {
  /** Where the credentials are stored. */
  readonly records: RecordStore;
  readonly #keys: KeyRing;
  readonly #clock: Clock;
  readonly #keyCache: CredentialCache<StoredKey>;
  readonly #tokenCache: CredentialCache<StoredToken>;
  /** Names of the records of tokens by their ids. */
  readonly #digestCache: CredentialCache<string>;
  readonly #rightsOf: CredentialStoreOptions["rightsOf"];
  readonly #mutex = new KeyedMutex();

  constructor(options: CredentialStoreOptions) {
    this.records = options.records;
    this.#keys = options.keys;
    this.#clock = options.clock;
    this.#rightsOf = options.rightsOf;
    const { cacheMs = 1_000 } = options;
    const nowMs = (): number => this.#clock.monotonicMs();
    this.#keyCache = new CredentialCache(cacheMs, nowMs);
    this.#tokenCache = new CredentialCache(cacheMs, nowMs);
    this.#digestCache = new CredentialCache(cacheMs, nowMs);
  }

  /**
   * Makes an access key. Its secret is in the result and can never be read again. `accessKey` and
   * `secretKey` may be given, for keys that exist elsewhere. With a parent it is valid as a token would be. Throws
   * as {@link createToken}.
   */
  async createKey(
    input: NewCredential & { readonly accessKey?: string; readonly secretKey?: string },
  ): Promise<{ readonly accessKey: string; readonly secretKey: string }> {
    const accessKey =
      input.accessKey ?? `SW${randomBytes(12).toString("hex").toUpperCase().slice(0, 18)}`;
    const secretKey = input.secretKey ?? randomBytes(30).toString("base64url");
    if (!isAccessKey(accessKey)) {
      throw invalidField("access_key", "pattern", "an access key has 8 to 40 capitals and digits");
    }
    if (!SECRET_FORM.test(secretKey)) {
      throw invalidField("secret_key", "pattern", "a secret key has 16 to 128 letters and digits");
    }
    const message: KeyMessage = {
      ...this.#describe(input),
      ...(await this.#keyOriginOf(input)),
      accessKey,
      secret: this.#keys.seal(Buffer.from(secretKey), purposeOfAccessKey(accessKey)),
    };
    if ((await this.records.read(keyAt(accessKey))) !== undefined) {
      throw invalidField("access_key", "duplicate", "the access key exists already");
    }
    await this.#add(keyAt(accessKey), message);
    return { accessKey, secretKey };
  }

  /**
   * Makes a token. It is in the result and can never be read again. With a parent it is valid as long as that one is, with no more
   * roles, projects and stacks than that one has at the time of a request; `REGISTRY_NOT_FOUND` where the parent is not valid,
   * `REGISTRY_QUOTA_EXCEEDED` where its owner has {@link MAX_OF_OWNER} credentials.
   */
  async createToken(
    input: NewCredential & {
      readonly storageScopes?: readonly TokenStorageScope[];
      /** The pool whose steps the workers of the token execute. @default that of the servers */
      readonly pool?: string | undefined;
      readonly token?: string;
    },
  ): Promise<{ readonly token: string; readonly tokenId: string }> {
    const token = input.token ?? `sw_${randomBytes(32).toString("base64url")}`;
    if (!TOKEN_FORM.test(token)) {
      throw invalidField("token", "pattern", "a token is sw_ and 43 letters and digits");
    }
    const digest = digestOf(token);
    const tokenId = tokenIdOf(digest);
    const message: TokenMessage = {
      ...this.#describe(input),
      ...(await this.#originOf(input)),
      tokenId,
      pool: input.pool ?? "",
      lastUseTimeMs: 0n,
      storageScopes: (input.storageScopes ?? []).map((scope) => ({
        ...scope,
        kinds: [...(scope.kinds ?? [])],
        access: scope.access ?? "write",
      })),
    };
    await this.#add(tokenAt(digest), message);
    return { token, tokenId };
  }

  /** Makes a token with the roles, projects and stacks of another one, which ends with that one. Throws as {@link createToken}. */
  async createTokenOf(
    parent: string,
    input: Pick<NewCredential, "description" | "expireTimeMs">,
  ): Promise<{ readonly token: string; readonly tokenId: string }> {
    const { account, roles, projects, stacks, user } = (await this.#parentOf(parent)).value;
    const given = { account, projects, stacks, roles: rolesNamed(roles) };
    return this.createToken({ ...input, ...given, parent, ...(user !== "" && { user }) });
  }

  /** Whether {@link createToken} would find room for one more credential. */
  async hasRoom(input: Pick<NewCredential, "account" | "user" | "parent">): Promise<boolean> {
    const { account } = input;
    const { count } = await this.#owned({ account, ...(await this.#keyOriginOf(input)) });
    return count < MAX_OF_OWNER;
  }

  /**
   * Replaces an access key by another one of the same account and roles. The old one stays valid for `overlapMs`, so
   * that its users can switch to the new one.
   *
   * @param maker whom the new one ends with. Default: as the old one
   */
  async rotateKey(
    accessKey: string,
    overlapMs: number,
    maker: Pick<NewCredential, "user" | "parent"> = {},
  ): Promise<{ readonly accessKey: string; readonly secretKey: string }> {
    const old = await this.records.read(keyAt(accessKey));
    if (old === undefined) throw noCredential();
    const nowMs = this.#clock.wallMs();
    const next = `SW${randomBytes(12).toString("hex").toUpperCase().slice(0, 18)}`;
    const secretKey = randomBytes(30).toString("base64url");
    const ends = wholeMs("overlap", Math.floor(nowMs) + Number(wholeMs("overlap", overlapMs)));
    const isOfOld = maker.user === undefined && maker.parent === undefined;
    const { parent, user } = isOfOld ? old.value : await this.#keyOriginOf(maker);
    const made: KeyMessage = {
      ...old.value,
      accessKey: next,
      secret: this.#keys.seal(Buffer.from(secretKey), purposeOfAccessKey(next)),
      createTimeMs: BigInt(nowMs),
      rotatedFrom: accessKey,
      parent,
      user,
    };
    await this.#add(keyAt(next), made, async () => {
      const now = await this.records.read(keyAt(accessKey));
      if (now === undefined) throw noCredential();
      const { expireTimeMs: before } = now.value;
      const expireTimeMs = before === 0n || before > ends ? ends : before;
      return [writeOperation(keyAt(accessKey), { ...now.value, expireTimeMs }, now)];
    });
    this.#keyCache.forget(accessKey);
    return { accessKey: next, secretKey };
  }

  /**
   * Reads the credentials of an account again before they are judged: what other servers changed counts at once. All of them, as which tokens one
   * was made with is known here only while each of them is kept.
   */
  forget(account: string): void {
    const isOf = ({ principal }: Pick<StoredToken, "principal">): boolean =>
      principal.account === account;
    this.#keyCache.forgetWhere(isOf);
    this.#tokenCache.forgetWhere(isOf);
  }

  /** Ends an access key or a token (by its id) at once, as far as this instance is concerned. */
  async revoke(actor: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const stored = await this.#find(actor);
      if (stored === undefined) throw noCredential();
      try {
        await this.records.storage.batch([deleteOperation(stored.record)]);
        this.#keyCache.forget(actor);
        if (stored.digest !== undefined) this.#tokenCache.forget(stored.digest);
        return;
      } catch (error) {
        // A use was recorded meanwhile.
        if (!isStorageError(error, "STORAGE_CAS_FAILURE") || attempt === REVOKE_ATTEMPTS)
          throw error;
      }
    }
  }

  /** The credentials of an account, or of all of them, without secrets: those that are not revoked. */
  async list(account?: string): Promise<readonly Credential[]> {
    const keys = await this.records.list(ACCESS_KEY, SYSTEM_TENANCY, "");
    const tokens = await this.records.list(TOKEN, SYSTEM_TENANCY, "");
    const parents = new Map(tokens.map(({ resource, value }) => [resource.id.name, value.parent]));
    /** Those that were made with a revoked token have ended with it. */
    const hasEnded = (parent: string | undefined): boolean =>
      parent !== "" && (parent === undefined || hasEnded(parents.get(parent)));
    return [
      ...keys
        .filter(({ value }) => !hasEnded(value.parent))
        .map(({ value }) => credentialOf(value.accessKey, value)),
      ...tokens
        .filter(({ value }) => !hasEnded(value.parent))
        .map(({ value }) => credentialOf(value.tokenId, value)),
    ]
      .filter((credential) => account === undefined || credential.account === account)
      .toSorted((a, b) => a.createTimeMs - b.createTimeMs);
  }

  /** A valid access key with its secret, limited to what its parents allow now. */
  async keyWithSecret(
    accessKey: string,
  ): Promise<{ readonly principal: Credential; readonly secret: string } | undefined> {
    if (!isAccessKey(accessKey)) return undefined;
    const found = await this.#keyCache.get(accessKey, async () => {
      const stored = await this.records.read(keyAt(accessKey));
      if (stored?.value.secret === undefined) return undefined;
      const secret = this.#keys.open(stored.value.secret, purposeOfAccessKey(accessKey));
      const { parent } = stored.value;
      const principal = credentialOf(accessKey, stored.value);
      return { principal, secret: secret.toString(), parent };
    });
    const principal = found && (await this.#presentRights(found, MAX_PARENTS));
    return principal && { principal, secret: found.secret };
  }

  /** What a valid access key or token (by its id) may do now; undefined where there is none. */
  async principalOf(actor: string): Promise<Credential | undefined> {
    if (!isTokenId(actor)) return (await this.keyWithSecret(actor))?.principal;
    const prefix = actor.slice(TOKEN_ID.length);
    const found = await this.#digestCache.get(actor, async () => {
      const tokens = await this.records.list(TOKEN, SYSTEM_TENANCY, prefix);
      return tokens.find(({ value }) => value.tokenId === actor)?.resource.id.name;
    });
    return found === undefined ? undefined : (await this.#tokenAt(found, MAX_PARENTS))?.principal;
  }

  /** Whose valid token this is, and what it may see through the storage service. */
  async tokenOwner(token: string): Promise<
    | {
        readonly principal: Credential;
        readonly scopes: readonly TokenStorageScope[];
      }
    | undefined
  > {
    if (!TOKEN_FORM.test(token)) return undefined;
    return this.#tokenAt(digestOf(token), MAX_PARENTS);
  }

  /** The valid token with a digest, limited to what its parents allow now. */
  async #tokenAt(digest: string, parents: number): Promise<StoredToken | undefined> {
    const found = await this.#tokenCache.get(digest, async () => {
      const stored = await this.records.read(tokenAt(digest));
      if (stored === undefined) return undefined;
      await this.#recordUse(digest, stored);
      const { tokenId, storageScopes, parent } = stored.value;
      const scopes = storageScopes.map(storedScope);
      return { principal: credentialOf(tokenId, stored.value), scopes, parent };
    });
    const principal = found && (await this.#presentRights(found, parents));
    return principal && { ...found, principal };
  }

  /** What a stored credential may do now: of what its user may, and its parents. Undefined where it has ended. */
  async #presentRights(
    { principal, parent: digest }: Pick<StoredToken, "principal" | "parent">,
    parents: number,
  ): Promise<Credential | undefined> {
    if (!this.#isValid(principal)) return undefined;
    const own = principal.user === undefined ? principal : await this.#rightsOf?.(principal);
    if (own === undefined || digest === "") return own;
    const parent = parents === 0 ? undefined : await this.#tokenAt(digest, parents - 1);
    return parent && limitedTo(parent.principal, own);
  }

  /** Records that a token is used, at most once an hour. What another server writes meanwhile counts as well. */
  async #recordUse(digest: string, { value, resource }: StoredRecord<TokenMessage>): Promise<void> {
    const nowMs = Math.floor(this.#clock.wallMs());
    if (nowMs - Number(value.lastUseTimeMs) < USE_RECORDED_MS) return;
    try {
      const used = { ...value, lastUseTimeMs: BigInt(Math.max(0, nowMs)) };
      await this.records.write(tokenAt(digest), used, { value, resource });
    } catch (error) {
      if (!isStorageError(error)) throw error;
    }
  }

  /** Whom and what a new credential ends with, and the stacks that it is limited to. */
  async #originOf(
    input: Pick<NewCredential, "user" | "parent" | "stacks">,
  ): Promise<Pick<TokenMessage, "parent" | "user" | "stacks">> {
    const parent = input.parent === undefined ? undefined : await this.#parentOf(input.parent);
    return {
      parent: parent?.digest ?? "",
      user: input.user ?? parent?.value.user ?? "",
      stacks: [...(input.stacks?.length ? input.stacks : (parent?.value.stacks ?? []))],
    };
  }

  /** The same for an access key, which is limited to stacks by its parent alone. */
  async #keyOriginOf(
    input: Pick<NewCredential, "user" | "parent">,
  ): Promise<Pick<KeyMessage, "parent" | "user">> {
    const { parent, user } = await this.#originOf(input);
    return { parent, user };
  }

  /** A token that others can be made with, and the name of its record. */
  async #parentOf(
    tokenId: string,
  ): Promise<{ readonly digest: string; readonly value: TokenMessage }> {
    const prefix = tokenId.slice(TOKEN_ID.length);
    const tokens = await this.records.list(TOKEN, SYSTEM_TENANCY, prefix);
    const found = tokens.find(({ value }) => value.tokenId === tokenId);
    const digest = found?.resource.id.name;
    if (
      found === undefined ||
      digest === undefined ||
      !(await this.#tokenAt(digest, MAX_PARENTS - 1))
    ) {
      throw new RegistryError("REGISTRY_NOT_FOUND", `no other token can be made with ${tokenId}`);
    }
    return { digest, value: found.value };
  }

  /** Writes a new credential, unless its owner has as many as may be, with what is written `beside` it. */
  async #add<T extends CountedCredential>(
    at: RecordName<T>,
    message: T,
    beside: () => Promise<readonly BatchOperation[]> = async () => [],
  ): Promise<void> {
    let isOutcomeKnown = true;
    const attempt = async (): Promise<void> => {
      const known = await this.records.read(at);
      if (known !== undefined && !isOutcomeKnown) return;
      if (known !== undefined) throw invalidField("name", "duplicate", "the credential exists");
      const also = await beside();
      const { owner, ...counted } = await this.#owned(message);
      if (owner !== undefined && counted.count >= MAX_OF_OWNER) throw noRoom(message);
      const { made = 0n } = counted.former?.value ?? {};
      const count = { made: made + 1n };
      try {
        await this.records.storage.batch([
          writeOperation(at, message),
          ...also,
          ...(owner === undefined ? [] : [writeOperation(countAt(owner), count, counted.former)]),
        ]);
      } catch (error) {
        if (isStorageError(error, "STORAGE_INCONSISTENT")) isOutcomeKnown = false;
        throw error;
      }
    };
    // One after the other: those of one owner would collide.
    const { account, user, parent } = message;
    await this.#mutex.run(`${account}\0${user}\0${user === "" ? parent : ""}`, async () =>
      retryCollisions(this.#clock, undefined, attempt),
    );
  }

  /** How many credentials the owner of one has, and the record that is written with each, as it was read before they were counted. */
  async #owned(credential: CountedCredential): Promise<{
    readonly owner: string | undefined;
    readonly former: StoredRecord<CredentialCount> | undefined;
    readonly count: number;
  }> {
    const none = { owner: undefined, former: undefined, count: 0 };
    if (credential.user === "" && credential.parent === "") return none;
    const isOfUser = credential.user !== "";
    const tokens = isOfUser ? [] : await this.records.list(TOKEN, SYSTEM_TENANCY, "");
    const owner = ownerOf(credential, { tokens });
    if (owner === undefined) return none;
    const former = await this.records.read(countAt(owner));
    const stored = {
      keys: await this.records.list(ACCESS_KEY, SYSTEM_TENANCY, ""),
      tokens: await this.records.list(TOKEN, SYSTEM_TENANCY, ""),
    };
    return { owner, former, count: countOf(owner, stored, this.#clock.wallMs()) };
  }

  /** Whether there is any credential yet. */
  async isEmpty(): Promise<boolean> {
    return (await this.list()).length === 0;
  }

  #isValid({ disabled, expireTimeMs }: Credential): boolean {
    return !disabled && (expireTimeMs === undefined || expireTimeMs > this.#clock.wallMs());
  }

  #describe(input: NewCredential) {
    checkAccount(input.account);
    if (input.roles.length === 0 || !input.roles.every(isRole)) {
      throw invalidField("roles", "not-listed", "a credential has at least one known role");
    }
    return {
      account: input.account,
      roles: input.roles.map(nameOfRole),
      projects: [...(input.projects ?? [])],
      description: input.description ?? "",
      createTimeMs: BigInt(this.#clock.wallMs()),
      expireTimeMs: wholeMs("expiry", input.expireTimeMs ?? 0),
      disabled: false,
      rotatedFrom: "",
    };
  }

  async #find(
    actor: string,
  ): Promise<{ record: StoredRecord<unknown>; digest: string | undefined } | undefined> {
    const key = isAccessKey(actor) ? await this.records.read(keyAt(actor)) : undefined;
    if (key !== undefined) return { record: key, digest: undefined };
    const tokens = await this.records.list(TOKEN, SYSTEM_TENANCY, "");
    const token = tokens.find(({ value }) => value.tokenId === actor);
    return token && { record: token, digest: token.resource.id.name };
  }
}

/** The latest time that a date can be. */
const LATEST_MS = 8_640_000_000_000_000;

function wholeMs(field: string, timeMs: number): bigint {
  if (timeMs >= 0 && timeMs <= LATEST_MS) return BigInt(Math.floor(timeMs));
  throw invalidField(field, "out-of-range", `the ${field} is not a time: ${timeMs} ms`);
}

/** Stacks and private providers of all accounts: what an operator's worker sees of the store. */
export const WHOLE_STORE: TokenStorageScope = Object.freeze({
  partition: WILDCARD,
  peerName: WILDCARD,
  namespace: WILDCARD,
  namePrefix: "",
  kinds: Object.freeze([KIND_SETS.engine, KIND_SETS.registry]),
});

function noRoom({ user }: CountedCredential): RegistryError {
  return new RegistryError(
    "REGISTRY_QUOTA_EXCEEDED",
    user === ""
      ? `${MAX_OF_OWNER} tokens and access keys were made with the token, which is the most: revoke some`
      : `"${user}" has ${MAX_OF_OWNER} tokens and access keys, which is the most: revoke some`,
  );
}

function noCredential(): RegistryError {
  return new RegistryError("REGISTRY_NOT_FOUND", "there is no such access key or token");
}
