import { isDeepStrictEqual } from "node:util";
import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { isEngineError } from "@stackwright/core/errors";
import type { RoleBinding } from "@stackwright/proto/stackwright";
import { type Credential, limitedTo, type Principal } from "@stackwright/registry";
import { isStorageError, readStored, type StorageBackend } from "@stackwright/storage";
import { decodeRecord, type RecordKind } from "../domain/record-kind.ts";
import type { Place } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { listReadable } from "../queue/list-readable.ts";
import { idOf } from "../queue/transaction.ts";
import {
  accountTenancy,
  bindingPlace,
  memberOfAccount,
  type SubjectKind,
  subjectsOfBinding,
} from "./access-places.ts";
import { type AccessFacts, isMember, rightsOfUser } from "./effective-rights.ts";

/** How late a change by another server counts. */
const KEPT_MS = 1_000;
/** Accounts whose facts are kept. */
const MAX_ACCOUNTS = 1_000;

/** Reads that {@link AccessDirectory.confirm} makes; a user with more roles and teams is judged by all facts of the account. */
const MAX_CONFIRMED = 64;

/** Damaged records that are known to be reported. */
const MAX_REPORTED = 1_000;

interface Kept {
  readonly facts: Promise<AccessFacts>;
  readonly untilMs: number;
}

/** An identity provider that users of an account sign in with. */
interface AccountIssuer {
  readonly account: string;
  /** What the server calls it. */
  readonly provider: string;
  /** As its ID tokens name it. */
  readonly issuer: string;
}

interface AccessDirectoryOptions {
  readonly storage: StorageBackend;
  readonly clock: Clock;
  /** @default none */
  readonly issuers?: readonly AccountIssuer[] | undefined;
  /** Gets what is damaged. @default nothing is logged */
  readonly logger?: Logger | undefined;
}

/** Users, teams and roles of all accounts, as requests are judged by them: read again at most once a second. */
export class AccessDirectory {
  readonly #storage: StorageBackend;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  readonly #issuers: readonly AccountIssuer[];
  readonly #logger: Logger | undefined;
  /** Damaged records that were reported: facts are read each second. */
  readonly #reported = new Set<string>();

  constructor({ storage, clock, issuers = [], logger }: AccessDirectoryOptions) {
    this.#logger = logger;
    this.#storage = storage;
    this.#clock = clock;
    this.#issuers = issuers;
  }

  /** The identity providers that users of an account sign in with. */
  issuersOf(account: string): readonly AccountIssuer[] {
    return this.#issuers.filter((one) => one.account === account);
  }

  async facts(account: string): Promise<AccessFacts> {
    const nowMs = this.#clock.monotonicMs();
    const kept = this.#kept.get(account);
    if (kept !== undefined && kept.untilMs > nowMs) return kept.facts;
    if (this.#kept.size >= MAX_ACCOUNTS) this.#kept.clear();
    const facts = this.read(account);
    const entry = { facts, untilMs: nowMs + KEPT_MS };
    this.#kept.set(account, entry);
    facts.catch(() => {
      if (this.#kept.get(account) === entry) this.#kept.delete(account);
    });
    return facts;
  }

  /** What was changed here counts at once. */
  forget(account: string): void {
    this.#kept.delete(account);
  }

  /**
   * For a change that an administrator makes, nothing counts that another server has changed by now: what gives a user its rights is read
   * again, and all facts of the account only where it has changed.
   */
  async confirm(account: string, name: string): Promise<void> {
    const kept = this.#kept.get(account);
    if (kept === undefined || kept.untilMs <= this.#clock.monotonicMs()) return;
    const { users, teams, bindings, onlyIssuer } = await kept.facts;
    const user = users.get(name);
    const own = user === undefined ? [] : teams.filter((team) => isMember(team, user, onlyIssuer));
    const given = bindings.filter(({ subjectKind, subject }) =>
      subjectKind === "user" ? subject === name : own.some((team) => team.name === subject),
    );
    const rows: readonly (readonly [RecordKind<unknown>, Place, unknown])[] = [
      [SERVER_KINDS.user, memberOfAccount(account, name), user],
      ...own.map((team) => [SERVER_KINDS.team, memberOfAccount(account, team.name), team] as const),
      ...given.map((one) => [SERVER_KINDS.roleBinding, placeOf(account, one), one] as const),
    ];
    const isSame =
      user !== undefined &&
      rows.length <= MAX_CONFIRMED &&
      (
        await Promise.all(rows.map(async ([kind, place, fact]) => this.#isStill(kind, place, fact)))
      ).every((is) => is);
    if (!isSame && this.#kept.get(account) === kept) this.forget(account);
  }

  async #isStill(kind: RecordKind<unknown>, place: Place, fact: unknown): Promise<boolean> {
    try {
      const found = await readStored(this.#storage, "strong", idOf(kind, place));
      return found !== undefined && isDeepStrictEqual(decodeRecord(kind, found), fact);
    } catch (error) {
      // It is damaged by now: all facts are read again, without it.
      if (isStorageError(error, "STORAGE_CORRUPT")) return false;
      if (isEngineError(error, "ENGINE_STATE_CORRUPT")) return false;
      throw error;
    }
  }

  /** A user as a caller, with all of its rights; undefined for one that may not sign in, or does not exist. */
  async principalOf(
    account: string,
    name: string,
    credential: string,
  ): Promise<Principal | undefined> {
    const facts = await this.facts(account);
    const user = facts.users.get(name);
    if (user === undefined || user.disabled) return undefined;
    return { account, actor: `user-${name}`, user: name, credential, ...rightsOfUser(facts, user) };
  }

  /** What a token of a user may do now: what its user may, as far as the token is not limited. */
  async rightsOf(token: Credential): Promise<Credential | undefined> {
    const { account, user = "", actor: id } = token;
    const owner = await this.principalOf(account, user, id);
    if (owner === undefined) return undefined;
    const limited = limitedTo(token, owner);
    // A user without any role is known, and may do nothing.
    return limited === undefined
      ? { ...token, ...owner, roles: [], projects: [], projectRoles: undefined }
      : { ...token, ...limited };
  }

  /** The same as they are stored now. Damaged records give nothing, and take nothing of what others give. */
  async read(account: string): Promise<AccessFacts> {
    const damagedTeams: string[] = [];
    const damagedBindings: string[] = [];
    const [users, teams, bindings] = await Promise.all([
      this.#list(account, SERVER_KINDS.user, []),
      this.#list(account, SERVER_KINDS.team, damagedTeams),
      this.#list(account, SERVER_KINDS.roleBinding, damagedBindings),
    ]);
    const issuers = new Set(this.issuersOf(account).map(({ issuer }) => issuer));
    const [onlyIssuer] = issuers.size === 1 ? issuers : [];
    return {
      users: new Map(users.map((user) => [user.name, user])),
      teams,
      bindings,
      onlyIssuer,
      ...(damagedTeams.length + damagedBindings.length > 0 && {
        damaged: { teams: damagedTeams, bindings: damagedBindings.flatMap(subjectsOfBinding) },
      }),
    };
  }

  /** Those of the account; the names of the ones that are damaged are added to `damaged`. */
  async #list<M>(account: string, kind: RecordKind<M>, damaged: string[]): Promise<readonly M[]> {
    const found = await listReadable(this.#storage, kind, accountTenancy(account), {
      onDamaged: ({ name }, reason) => {
        damaged.push(name);
        this.#report({ account, kind: kind.type.kind, name, reason });
      },
    });
    return found.map(({ message }) => message);
  }

  #report(damage: Readonly<Record<"account" | "kind" | "name" | "reason", string>>): void {
    const key = [damage.account, damage.kind, damage.name].join("\0");
    if (this.#reported.has(key)) return;
    if (this.#reported.size >= MAX_REPORTED) this.#reported.clear();
    this.#reported.add(key);
    this.#logger?.warn(damage, "a record is damaged, and gives no access");
  }
}

function placeOf(account: string, { subjectKind, subject, project }: RoleBinding): Place {
  const kind = subjectKind as SubjectKind;
  return bindingPlace({ account, kind, subject, ...(project !== "" && { project }) });
}
