import { createHash, randomBytes } from "node:crypto";
import { ConsoleCodes as CodesMessage, type ConsoleCode } from "@stackwright/proto/stackwright";
import { CONSOLE_CODES, consoleCodesPlace } from "../access/access-places.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type Transaction, type TransactionParts, transact } from "../queue/transaction.ts";

/** How long a code is good for. */
export const CODE_MS = 10 * 60_000;
/** Codes of one owner: the oldest goes where there are more. */
export const MAX_OF_OWNER = 5;
/** Records without a code that is good which one request removes. */
const SWEPT = 100;
const KIND = SERVER_KINDS.consoleCodes;
const OWNER_DIGITS = 32;
const FORM = /^([0-9a-f]{32})([A-Za-z0-9_-]{43})$/;

/** Whose token a code gives. */
interface CodeOwner {
  readonly account: string;
  /** Undefined for a token that belongs to no user. */
  readonly user: string | undefined;
  /** Id of the token that asked for the code. */
  readonly parent: string;
}

/**
 * Codes for browsers, each of which gives a token once: an address with a code may be in the history of a browser, one with a token must
 * not be. A code names the record of its owner, and has a secret of 256 bits, whose digest is stored: every server of the store takes it.
 */
export class ConsoleCodes {
  readonly #parts: TransactionParts;

  constructor(parts: TransactionParts) {
    this.#parts = parts;
  }

  /** A code of an owner. Only codes of the same owner make room for it. */
  async make({ account, user, parent }: CodeOwner): Promise<string> {
    await this.#sweep();
    const secret = randomBytes(32).toString("base64url");
    const name = sha256(user === undefined ? `token\0${parent}` : `user\0${account}\0${user}`);
    const owner = name.slice(0, OWNER_DIGITS);
    await transact(this.#parts, async (tx) => {
      const row = await tx.findOrNew(KIND, consoleCodesPlace(owner), () =>
        CodesMessage.create({ account, user: user ?? "" }),
      );
      const untilMs = BigInt(tx.nowMs + CODE_MS);
      const added = { secretDigest: sha256(secret), parent, untilMs };
      const good = row.message.codes.filter((one) => isGood(one, tx.nowMs));
      tx.update(row, { codes: [...good, added].slice(-MAX_OF_OWNER) });
    });
    return `${owner}${secret}`;
  }

  /** Whose a code is, which stays good; undefined for one that is not known, was used, or is too old. */
  async ownerOf(code: string): Promise<CodeOwner | undefined> {
    return transact(this.#parts, async (tx) => (await findCode(tx, code))?.owner);
  }

  /** The same, for a code that is then good no more. Of several servers that are asked at once, one gets the owner. */
  async take(code: string): Promise<CodeOwner | undefined> {
    return transact(this.#parts, async (tx) => {
      const found = await findCode(tx, code);
      if (found === undefined) return undefined;
      const { row, others, owner } = found;
      if (others.length === 0) tx.remove(row);
      else tx.update(row, { codes: others });
      return owner;
    });
  }

  /** Removes records whose codes are all too old. */
  async #sweep(): Promise<void> {
    const { storage, clock } = this.#parts;
    const nowMs = clock.wallMs();
    const over = (await storage.list("strong", KIND.type, CONSOLE_CODES, "")).filter(
      (one) => !decodeRecord(KIND, one).codes.some((code) => isGood(code, nowMs)),
    );
    for (const { id } of over.slice(0, SWEPT)) {
      await transact(this.#parts, async (tx) => {
        const row = await tx.find(KIND, consoleCodesPlace(id.name));
        if (row?.message.codes.some((code) => isGood(code, nowMs)) === false) tx.remove(row);
      });
    }
  }
}

async function findCode(tx: Transaction, code: string) {
  const [, name, secret] = FORM.exec(code) ?? [];
  if (name === undefined || secret === undefined) return undefined;
  const row = await tx.find(KIND, consoleCodesPlace(name));
  if (row === undefined) return undefined;
  const { account, user, codes } = row.message;
  const digest = sha256(secret);
  const found = codes.find((one) => one.secretDigest === digest && isGood(one, tx.nowMs));
  if (found === undefined) return undefined;
  const owner = { account, user: user === "" ? undefined : user, parent: found.parent };
  return { row, owner, others: codes.filter((one) => one !== found) };
}

function isGood({ untilMs }: ConsoleCode, nowMs: number): boolean {
  return Number(untilMs) > nowMs;
}

/** What is stored and found by is no secret; 256 random bits need no slow hash. */
function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
