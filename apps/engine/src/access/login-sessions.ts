import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { LoginSession } from "@stackwright/proto/stackwright";
import type { Principal } from "@stackwright/registry";
import { readStored } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import type { Place } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf, type TransactionParts, transact } from "../queue/transaction.ts";
import type { AccessDirectory } from "./access-directory.ts";
import { accountTenancy, sessionPlace } from "./access-places.ts";

const IDLE_MS = 12 * 3_600_000;
const LONGEST_MS = 7 * 24 * 3_600_000;
/** How far behind the last use is stored. */
const USE_RECORDED_MS = 5 * 60_000;
/** How late the end of a session at another server counts. */
const KEPT_MS = 1_000;
/** Sessions that are kept. */
const MAX_KEPT = 10_000;
/** Ended sessions that one sign-in removes. */
const SWEPT = 100;
const KIND = SERVER_KINDS.loginSession;
const SESSION_ID = "session-";
const FORM = /^([a-z0-9][a-z0-9-]{0,62})\.[A-Za-z0-9_-]{43}$/;

interface LoginSessionParts extends TransactionParts {
  readonly access: AccessDirectory;
  /** Authenticates what pages send with their changes, the same in all servers of the store. */
  readonly pageKey: () => Promise<Uint8Array>;
}

interface KeptSession {
  readonly session: Promise<LoginSession | undefined>;
  readonly untilMs: number;
}

/** The sessions of users who signed in with a browser. They end 12 hours after the last use, 7 days after the sign-in, or when asked. */
export class LoginSessions {
  readonly #parts: LoginSessionParts;
  /** By the names of their records: read again at most once a second. */
  readonly #kept = new Map<string, KeptSession>();

  constructor(parts: LoginSessionParts) {
    this.#parts = parts;
  }

  /** Begins a session, with a secret that no one had before; the sessions of the account that are over are removed. */
  async begin(
    account: string,
    user: string,
    from: { readonly remoteAddress: string; readonly browser: string },
  ): Promise<string> {
    const random = randomBytes(32);
    const secret = `${account}.${random.toString("base64url")}`;
    await this.#sweep(account);
    await transact(this.#parts, async (tx) => {
      const at = BigInt(tx.nowMs);
      const place = sessionPlace(account, secret);
      tx.create(
        KIND,
        place,
        LoginSession.create({
          id: SESSION_ID + place.name.slice(0, 12),
          user,
          createdAtMs: at,
          usedAtMs: at,
          remoteAddress: from.remoteAddress.slice(0, 64),
          browser: from.browser.slice(0, 256),
        }),
      );
    });
    return secret;
  }

  /**
   * The user of a session that is not over, with the rights that it has now.
   *
   * @param isUse whether the request says that somebody is there: a page that is open and only listens does not
   */
  async principalOf(secret: string, isUse = true): Promise<Principal | undefined> {
    const [, account] = FORM.exec(secret) ?? [];
    if (account === undefined) return undefined;
    const place = sessionPlace(account, secret);
    let session = await this.#read(place);
    const nowMs = this.#parts.clock.wallMs();
    if (session === undefined || isOver(session, nowMs)) return undefined;
    if (isUse && nowMs - Number(session.usedAtMs) >= USE_RECORDED_MS) {
      session = await this.#use(place);
    }
    return session && this.#parts.access.principalOf(account, session.user, session.id);
  }

  /** Reads a session (by its id) again before it is judged: what other servers changed counts at once. */
  forget(id: string): void {
    if (!id.startsWith(SESSION_ID)) return;
    const name = id.slice(SESSION_ID.length);
    for (const key of this.#kept.keys()) if (key.startsWith(name)) this.#kept.delete(key);
  }

  /** What a page of the session sends with changes, and a page of another site cannot know. */
  async pageToken(secret: string): Promise<string> {
    return createHmac("sha256", await this.#parts.pageKey())
      .update(secret)
      .digest("base64url");
  }

  async isPageToken(secret: string, given: string | undefined): Promise<boolean> {
    const expected = Buffer.from(await this.pageToken(secret));
    const found = Buffer.from(given ?? "");
    return found.byteLength === expected.byteLength && timingSafeEqual(found, expected);
  }

  /** The sessions of an account, or of one of its users, that are not over. */
  async list(account: string, user?: string): Promise<readonly LoginSession[]> {
    const nowMs = this.#parts.clock.wallMs();
    const all = (await this.#stored(account)).map(({ session }) => session);
    return all.filter((one) => !isOver(one, nowMs) && (user === undefined || one.user === user));
  }

  /** Ends a session by its id; false where there is none, or it is of another user. */
  async end(account: string, id: string, user?: string): Promise<boolean> {
    const found = (await this.#stored(account)).find(
      ({ session }) => session.id === id && (user === undefined || session.user === user),
    );
    if (found === undefined) return false;
    await this.#remove(found.place);
    return true;
  }

  /** Ends the session of a secret, if it is one. */
  async endSecret(secret: string): Promise<void> {
    const [, account] = FORM.exec(secret) ?? [];
    if (account !== undefined) await this.#remove(sessionPlace(account, secret));
  }

  async #read(place: Place): Promise<LoginSession | undefined> {
    const nowMs = this.#parts.clock.monotonicMs();
    const kept = this.#kept.get(place.name);
    if (kept !== undefined && kept.untilMs > nowMs) return kept.session;
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    const session = readStored(this.#parts.storage, "strong", idOf(KIND, place)).then(
      (found) => found && decodeRecord(KIND, found),
    );
    const entry = { session, untilMs: nowMs + KEPT_MS };
    this.#kept.set(place.name, entry);
    const drop = (): void => {
      if (this.#kept.get(place.name) === entry) this.#kept.delete(place.name);
    };
    // What is not there takes no room.
    session.then((found) => (found === undefined ? drop() : undefined), drop);
    return session;
  }

  async #use(place: Place): Promise<LoginSession | undefined> {
    return transact(this.#parts, async (tx) => {
      const row = await tx.find(KIND, place);
      if (row === undefined || isOver(row.message, tx.nowMs)) return undefined;
      if (tx.nowMs - Number(row.message.usedAtMs) >= USE_RECORDED_MS) {
        tx.update(row, { usedAtMs: BigInt(tx.nowMs) });
      }
      return row.message;
    }).finally(() => this.#kept.delete(place.name));
  }

  async #stored(account: string) {
    const { storage } = this.#parts;
    const tenancy = accountTenancy(account);
    const found = await storage.list("strong", KIND.type, tenancy, "");
    return found.map((one) => ({
      place: { tenancy, name: one.id.name },
      session: decodeRecord(KIND, one),
    }));
  }

  async #sweep(account: string): Promise<void> {
    const nowMs = this.#parts.clock.wallMs();
    const over = (await this.#stored(account)).filter(({ session }) => isOver(session, nowMs));
    for (const { place } of over.slice(0, SWEPT)) await this.#remove(place);
  }

  async #remove(place: Place): Promise<void> {
    await transact(this.#parts, async (tx) => {
      const row = await tx.find(KIND, place);
      if (row !== undefined) tx.remove(row);
    });
    this.#kept.delete(place.name);
  }
}

function isOver({ createdAtMs, usedAtMs }: LoginSession, nowMs: number): boolean {
  return nowMs - Number(usedAtMs) >= IDLE_MS || nowMs - Number(createdAtMs) >= LONGEST_MS;
}
