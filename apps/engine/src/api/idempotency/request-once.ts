import { IdempotencyRecord, IdempotencyRecord_Progress } from "@stackwright/proto/stackwright";
import { type BatchOperation, readStored } from "@stackwright/storage";
import { decodeRecord, typeUrlOf } from "../../domain/record-kind.ts";
import type { Place } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { IDEMPOTENCY_KEPT_MS, SERVER_KINDS } from "../../domain/server-kinds.ts";
import {
  type Companion,
  idOf,
  type Transaction,
  type TransactionParts,
  transact,
} from "../../queue/transaction.ts";
import { answerKeyOf, openAnswer, sealAnswer } from "./sealed-answer.ts";

/** An answer as it is repeated. */
export interface KeptAnswer {
  readonly status: number;
  /** Undefined for one that is not a text. */
  readonly body: string | undefined;
  readonly location?: string;
  readonly etag?: string;
  readonly contentType?: string;
  /** It was stored encrypted, as it may have a secret. @default false */
  readonly isSecret?: boolean;
}

/** Which request it is. */
interface RequestFacts {
  readonly place: Place;
  /** Its idempotency key, of which the store has a digest alone. */
  readonly key: string;
  readonly digest: string;
  /** Digest of the credential that asks. */
  readonly credential: string;
  /** Digest of what the caller may do where the request goes. */
  readonly rights: string;
  /** With the idempotency key it encrypts answers; the same in all servers of a store. */
  readonly answerKey: () => Promise<Uint8Array>;
}

const KIND = SERVER_KINDS.idempotency;
const { PROGRESS_UNSPECIFIED, PROGRESS_BEGUN, PROGRESS_CHANGED, PROGRESS_FAILED } =
  IdempotencyRecord_Progress;

/** Bytes of a body that is kept encrypted. */
export const MAX_KEPT_BYTES = 16 * 1024;

/** How long a request without an answer counts as one that is in progress: after that its server was killed. */
export const ANSWER_WAIT_MS = 60_000;

/**
 * One request with an idempotency key, which has its effect at most once.
 *
 *   new       nothing is stored, and nothing will be without a change; what another request with the key stores meanwhile, it finds
 *   begun     a record was stored before the effect, which is outside of the store or of our batches
 *   changed   the batch of the change has the record: a crash leaves both or neither
 *   ended     the record has the answer, or says that there is none
 *
 * The answer follows in a write of its own, unless it was known before the change ({@link answerWithChange}): a server that is killed in
 * between leaves a record without one, and a repeat is refused with `answer_unavailable` rather than executed.
 */
export class RequestOnce implements Companion {
  readonly #parts: TransactionParts;
  readonly #facts: RequestFacts;
  readonly #attempt: string;
  #progress: "new" | "begun" | "changed" | "ended" = "new";
  #answer: KeptAnswer | undefined;

  constructor({ storage, clock, token, random }: TransactionParts, facts: RequestFacts) {
    this.#parts = { storage, clock, token, random };
    this.#facts = facts;
    this.#attempt = token();
  }

  get isNew(): boolean {
    return this.#progress === "new";
  }

  /**
   * The answer to another request with the key; undefined where there was none. `idempotency_mismatch`, `in_progress`, `answer_unavailable`. A
   * record of this request itself, whose batch was done while its outcome got lost, is noted: the request is new no longer.
   */
  async find(): Promise<KeptAnswer | undefined> {
    const { storage, clock } = this.#parts;
    const found = await readStored(storage, "strong", idOf(KIND, this.#facts.place));
    if (found === undefined) return undefined;
    const record = decodeRecord(KIND, found);
    if (clock.wallMs() - Number(record.createdAtMs) > IDEMPOTENCY_KEPT_MS) {
      await storage.deleteCAS(found.id, found.version);
      return undefined;
    }
    if (record.attempt === this.#attempt) {
      this.#progress = record.progress === PROGRESS_UNSPECIFIED ? "ended" : "changed";
      return undefined;
    }
    return this.#answerOf(record);
  }

  /** Notes that the request begins, before an effect that no batch has. `in_progress` where another one has the key. */
  async begin(): Promise<void> {
    await transact(this.#parts, async (tx) => {
      await this.#requireFree(tx);
      tx.create(KIND, this.#facts.place, this.#record(PROGRESS_BEGUN));
    });
    this.#progress = "begun";
  }

  /**
   * The answer, which holds no secret, is stored by the batch of the change. To be called before each attempt at it ends. What is answered at
   * last may differ, and takes its place.
   */
  answerWithChange(answer: KeptAnswer): void {
    this.#answer = answer;
  }

  async check(tx: Transaction): Promise<void> {
    if (this.isNew) await this.#requireFree(tx);
  }

  next(): readonly BatchOperation[] {
    if (!this.isNew) return [];
    const answer = this.#answer;
    const record = this.#record(answer === undefined ? PROGRESS_CHANGED : PROGRESS_UNSPECIFIED);
    const message = answer === undefined ? record : { ...record, ...inTheClear(answer) };
    const resource = {
      id: { ...idOf(KIND, this.#facts.place), uid: this.#attempt },
      version: "",
      generation: "",
      metadata: {},
      status: {},
      data: { typeUrl: typeUrlOf(KIND.type), value: KIND.codec.encode(message).finish() },
    };
    return [{ kind: "write", resource }];
  }

  written(): void {
    if (this.isNew) this.#progress = this.#answer === undefined ? "changed" : "ended";
  }

  /**
   * Stores the answer to this request, if it is not stored yet. Where it changed nothing, none is kept: a repeat changes nothing either. Resolves
   * then with the answer to another request with the key, which was faster.
   */
  async complete(answer: KeptAnswer): Promise<KeptAnswer | undefined> {
    if (this.isNew) {
      const other = await this.find();
      if (this.isNew) return other;
    }
    const isKnown = this.#progress === "ended";
    if (isKnown && answer.body === this.#answer?.body) return undefined;
    const kept = isKnown ? inTheClear(answer) : await this.#sealed(answer);
    await transact(this.#parts, async (tx) => {
      const row = await tx.find(KIND, this.#facts.place);
      if (row?.message.attempt === this.#attempt) tx.update(row, kept);
    });
    this.#progress = "ended";
    return undefined;
  }

  /** The request failed: `isRefused` if it had no effect for sure, where nothing was changed by it. */
  async fail(isRefused: boolean): Promise<void> {
    const isFree = this.isNew || this.#progress === "ended";
    if (isFree) return;
    const wasBegun = this.#progress === "begun";
    this.#progress = "ended";
    await transact(this.#parts, async (tx) => {
      const row = await tx.find(KIND, this.#facts.place);
      if (row?.message.attempt !== this.#attempt) return;
      if (wasBegun && isRefused) tx.remove(row);
      else tx.update(row, { progress: PROGRESS_FAILED });
    });
  }

  async #requireFree(tx: Transaction): Promise<void> {
    const found = await tx.find(KIND, this.#facts.place);
    if (found !== undefined) throw new ServerError("in_progress");
  }

  #record(progress: IdempotencyRecord_Progress): IdempotencyRecord {
    const { digest, credential, rights } = this.#facts;
    return IdempotencyRecord.create({
      requestDigest: digest,
      createdAtMs: BigInt(Math.floor(this.#parts.clock.wallMs())),
      progress,
      credentialDigest: credential,
      rightsDigest: rights,
      attempt: this.#attempt,
    });
  }

  async #sealed(answer: KeptAnswer): Promise<Partial<IdempotencyRecord>> {
    const { body } = answer;
    const { place } = this.#facts;
    if (body === undefined || Buffer.byteLength(body) > MAX_KEPT_BYTES) {
      return { ...headOf(answer), withoutBody: true };
    }
    if (body === "") return headOf(answer);
    return { ...headOf(answer), sealedBody: sealAnswer(await this.#answerKey(), place, body) };
  }

  async #answerKey(): Promise<Uint8Array> {
    const { key, answerKey } = this.#facts;
    return answerKeyOf(await answerKey(), key);
  }

  async #answerOf(record: IdempotencyRecord): Promise<KeptAnswer> {
    const { place, digest, credential, rights } = this.#facts;
    if (record.requestDigest !== digest) throw new ServerError("idempotency_mismatch");
    if (record.progress !== PROGRESS_UNSPECIFIED) throw this.#unanswered(record);
    // The handler that judged them does not run again; records of older servers have none.
    if (record.rightsDigest !== "" && record.rightsDigest !== rights) {
      throw new ServerError(
        "answer_unavailable",
        "the request was executed and answered; its caller has other rights now, and that answer is not repeated: read what it made, as far as you may",
      );
    }
    const { status, location, etag, contentType } = record;
    const answer = { status, location, etag, contentType };
    const where = location === "" ? "read what it made" : `read ${location}`;
    const done = `the request was executed and answered with the status ${status}`;
    if (record.withoutBody) {
      throw new ServerError(
        "answer_unavailable",
        `${done}; that answer was too large to be kept: ${where}`,
      );
    }
    if (record.sealedBody.byteLength === 0) return { ...answer, body: record.body };
    if (record.credentialDigest !== credential) {
      throw new ServerError(
        "answer_unavailable",
        `${done}; that answer is repeated to the credential that asked for it alone: ${where}`,
      );
    }
    const body = openAnswer(await this.#answerKey(), place, record.sealedBody);
    if (body !== undefined) return { ...answer, body, isSecret: true };
    throw new ServerError(
      "answer_unavailable",
      `${done}; that answer cannot be decrypted: ${where}`,
    );
  }

  #unanswered({ progress, createdAtMs }: IdempotencyRecord): ServerError {
    const again = "read what was done before you ask for it again with another key";
    const isRecent = this.#parts.clock.wallMs() - Number(createdAtMs) <= ANSWER_WAIT_MS;
    if (progress === PROGRESS_FAILED) {
      return new ServerError(
        "answer_unavailable",
        `the request failed when its effect had begun or was done: ${again}`,
      );
    }
    if (isRecent) return new ServerError("in_progress");
    return new ServerError(
      "answer_unavailable",
      progress === PROGRESS_CHANGED
        ? `the request was executed, and its server ended before it answered: ${again}`
        : `the server ended while it executed the request, whose effect is not known: ${again}`,
    );
  }
}

/** An answer that is stored as it is, and whole: the batch that makes what it shows has room for it. */
function inTheClear(answer: KeptAnswer): Partial<IdempotencyRecord> {
  const { body } = answer;
  return body === undefined
    ? { ...headOf(answer), withoutBody: true }
    : { ...headOf(answer), body };
}

function headOf(answer: KeptAnswer): Partial<IdempotencyRecord> {
  const { status, location = "", etag = "", contentType = "" } = answer;
  return { progress: PROGRESS_UNSPECIFIED, status, location, etag, contentType };
}
