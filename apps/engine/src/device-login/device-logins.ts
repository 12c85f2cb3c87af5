import { timingSafeEqual } from "node:crypto";
import { KeyedMutex } from "@stackwright/base/keyed-mutex";
import { DeviceLogin } from "@stackwright/proto/stackwright";
import { DEVICE_LOGINS, deviceLoginPlace } from "../access/access-places.ts";
import { ChangeEntry } from "../access/change-entry.ts";
import type { UserRole } from "../access/effective-rights.ts";
import type { AuditCaller, AuditTrail } from "../access/registry-audit.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type Transaction, type TransactionParts, transact } from "../queue/transaction.ts";
import { addressGroup, addressNetwork } from "../sign-in/address-group.ts";
import {
  type DeviceCode,
  deviceCodeText,
  digestOfSecret,
  makeDeviceSecret,
  makeUserCode,
  nameOfUserCode,
  readDeviceCode,
  readUserCode,
} from "./device-codes.ts";

/** How long codes are valid. */
export const DEVICE_LOGIN_MS = 10 * 60_000;
/** Between two questions of a command whether its user agreed, at first. */
export const POLL_MS = 5_000;
/** What is added to it each time a command asks too early. */
const SLOWER_MS = 5_000;
const SLOWEST_MS = 60_000;
/** How much earlier than it should a command may ask: its clock and those of the servers differ. */
const EARLY_MS = 1_000;
/** Open codes of one remote address, of one network, and of all: no network can use up those of all others. */
const MAX_OF_ADDRESS = 10;
const MAX_OF_NETWORK = 50;
const MAX_OPEN = 1_000;
/** Requests for codes that wait for one another in one server. */
const MAX_ASKING = 50;
/** Ended logins that one request removes. */
const SWEPT = 100;
const KIND = SERVER_KINDS.deviceLogin;

interface DeviceLoginParts extends TransactionParts {
  readonly audit: Pick<AuditTrail, "entry">;
  /** Stands between the codes that users type and their records, the same in all servers of the store. */
  readonly codeKey: () => Promise<Uint8Array>;
}

/** What a command says about itself when it asks. */
interface Asker {
  readonly host: string;
  readonly remoteAddress: string;
  readonly role: UserRole;
}

type Decision = "agreed" | "refused";

type AskResult =
  | { readonly kind: "asked"; readonly deviceCode: string; readonly userCode: string }
  /** The address or its network has too many open codes; all have. */
  | { readonly kind: "many_of_address" | "many" };

type PollResult =
  | { readonly kind: "agreed"; readonly login: DeviceLogin }
  | { readonly kind: "pending" | "slow_down" | "refused" | "expired" | "unknown" };

/**
 * Logins of commands on machines without a browser: a command asks, its user agrees or refuses on another machine, the command hears
 * of it. Codes are valid for ten minutes and for one answer. The store has a keyed digest of the one code and a digest of the other.
 */
export class DeviceLogins {
  readonly #parts: DeviceLoginParts;
  readonly #mutex = new KeyedMutex();
  #asking = 0;

  constructor(parts: DeviceLoginParts) {
    this.#parts = parts;
  }

  /** Begins a login, unless too many are open. */
  async ask(asker: Asker): Promise<AskResult> {
    if (this.#asking >= MAX_ASKING) return { kind: "many" };
    this.#asking += 1;
    try {
      // One after the other: each counts those before it.
      return await this.#mutex.run("", async () => this.#ask(asker));
    } finally {
      this.#asking -= 1;
    }
  }

  async #ask({ host, remoteAddress, role }: Asker): Promise<AskResult> {
    const open = await this.#open();
    if (open.length >= MAX_OPEN) return { kind: "many" };
    const group = addressGroup(remoteAddress);
    const own = open.filter((one) => addressGroup(one.remoteAddress) === group);
    if (own.length >= MAX_OF_ADDRESS) return { kind: "many_of_address" };
    const network = addressNetwork(remoteAddress);
    const near = open.filter((one) => addressNetwork(one.remoteAddress) === network);
    if (near.length >= MAX_OF_NETWORK) return { kind: "many_of_address" };
    const key = await this.#parts.codeKey();
    const secret = makeDeviceSecret();
    return transact(this.#parts, async (tx) => {
      const userCode = makeUserCode();
      const name = nameOfUserCode(key, userCode);
      const login = DeviceLogin.create({
        secretDigest: digestOfSecret(secret),
        host,
        remoteAddress: remoteAddress.slice(0, 64),
        role,
        createdAtMs: BigInt(tx.nowMs),
        intervalMs: BigInt(POLL_MS),
      });
      // Fails where the code is in use, and then another one is made.
      tx.create(KIND, deviceLoginPlace(name), login);
      return { kind: "asked", deviceCode: deviceCodeText({ name, secret }), userCode };
    });
  }

  /** The login that waits for its user, by the code that was typed. */
  async waiting(typed: string): Promise<DeviceLogin | undefined> {
    const name = await this.#nameOf(typed);
    if (name === undefined) return undefined;
    return transact(this.#parts, async (tx) => (await waitingRow(tx, name))?.message);
  }

  /** Agrees or refuses, once; undefined where no login waits for it. The audit trail has it in the same step. */
  async decide(
    typed: string,
    decision: Decision,
    by: { readonly user: string; readonly caller: AuditCaller },
  ): Promise<DeviceLogin | undefined> {
    const name = await this.#nameOf(typed);
    if (name === undefined) return undefined;
    const action = decision === "agreed" ? "AgreeToDeviceLogin" : "RefuseDeviceLogin";
    let target = "";
    const companion = new ChangeEntry(() => this.#parts.audit.entry(by.caller, { action, target }));
    return transact({ ...this.#parts, companion }, async (tx) => {
      const row = await waitingRow(tx, name);
      if (row === undefined) return undefined;
      target = deviceLoginTarget(row.message);
      tx.update(row, { decision, account: by.caller.account, user: by.user });
      return row.message;
    });
  }

  /** What became of a login, for the command that asked. An answer of the user is given once, and ends the login. */
  async poll(deviceCode: string): Promise<PollResult> {
    const code = readDeviceCode(deviceCode);
    if (code === undefined) return { kind: "unknown" };
    return transact(this.#parts, async (tx): Promise<PollResult> => {
      const row = await tx.find(KIND, deviceLoginPlace(code.name));
      if (row === undefined || !isOf(row.message, code)) return { kind: "unknown" };
      const { message } = row;
      if (isOver(message, tx.nowMs)) return { kind: "expired" };
      if (tx.nowMs < Number(message.nextPollAtMs) - EARLY_MS) {
        const intervalMs = Math.min(SLOWEST_MS, Number(message.intervalMs) + SLOWER_MS);
        tx.update(row, {
          intervalMs: BigInt(intervalMs),
          nextPollAtMs: BigInt(tx.nowMs + intervalMs),
        });
        return { kind: "slow_down" };
      }
      if (message.decision === "") {
        tx.update(row, { nextPollAtMs: BigInt(tx.nowMs) + message.intervalMs });
        return { kind: "pending" };
      }
      // Of several servers that are asked at once, one removes it.
      tx.remove(row);
      return message.decision === "agreed"
        ? { kind: "agreed", login: message }
        : { kind: "refused" };
    });
  }

  async #nameOf(typed: string): Promise<string | undefined> {
    const code = readUserCode(typed);
    return code === undefined ? undefined : nameOfUserCode(await this.#parts.codeKey(), code);
  }

  /** Those that are not over; some of the others are removed. */
  async #open(): Promise<readonly DeviceLogin[]> {
    const { storage, clock } = this.#parts;
    const nowMs = clock.wallMs();
    const stored = (await storage.list("strong", KIND.type, DEVICE_LOGINS, "")).map((one) => ({
      name: one.id.name,
      login: decodeRecord(KIND, one),
    }));
    const over = stored.filter(({ login }) => isOver(login, nowMs));
    for (const { name } of over.slice(0, SWEPT)) {
      await transact(this.#parts, async (tx) => {
        const row = await tx.find(KIND, deviceLoginPlace(name));
        if (row !== undefined) tx.remove(row);
      });
    }
    return stored.map(({ login }) => login).filter((login) => !isOver(login, nowMs));
  }
}

/** A login in the audit trail: where it came from, and what it is allowed at most. */
export function deviceLoginTarget({
  host,
  remoteAddress,
  role,
}: Pick<DeviceLogin, "host" | "remoteAddress" | "role">): string {
  return `${role} on ${host || "a machine"} at ${remoteAddress}`;
}

async function waitingRow(tx: Transaction, name: string) {
  const row = await tx.find(KIND, deviceLoginPlace(name));
  const isWaiting = row?.message.decision === "" && !isOver(row.message, tx.nowMs);
  return isWaiting ? row : undefined;
}

function isOver({ createdAtMs }: DeviceLogin, nowMs: number): boolean {
  return nowMs - Number(createdAtMs) >= DEVICE_LOGIN_MS;
}

function isOf({ secretDigest }: DeviceLogin, { secret }: DeviceCode): boolean {
  const [expected, given] = [Buffer.from(secretDigest), Buffer.from(digestOfSecret(secret))];
  return expected.byteLength === given.byteLength && timingSafeEqual(expected, given);
}
