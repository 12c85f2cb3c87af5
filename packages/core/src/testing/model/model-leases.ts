/** Something that was lent, and what became of it. */
export interface ModelLease {
  readonly id: string;
  readonly token: string;
  /** Whether the one who opened it knows that it is open: was told so, and was still there to hear it. */
  isKnown: boolean;
  /** Calls that were to close it, however they went. */
  closes: number;
  /** Renewals that were asked for when it was closed already, or was being closed. */
  lateRenewals: number;
}

/** What the tokens of leases begin with, and nothing else. */
export const TOKEN_CANARY = "token-7d1fa2c6";

/** The leases of one process. */
export class ModelLeases {
  readonly all: ModelLease[] = [];
  /** Tokens that somebody was told when their lease was not open. */
  readonly misused: string[] = [];

  open(name: string): ModelLease {
    const id = `${name}-${this.all.length + 1}`;
    const token = `${TOKEN_CANARY}-${id}`;
    const lease = { id, token, isKnown: false, closes: 0, lateRenewals: 0 };
    this.all.push(lease);
    return lease;
  }

  /** The lease of a call's private bytes. Throws for those of nobody. */
  byId(privateBytes: Uint8Array): ModelLease {
    const id = new TextDecoder().decode(privateBytes);
    const found = this.all.find((lease) => lease.id === id);
    if (found === undefined) throw new Error(`there is no lease "${id}"`);
    return found;
  }

  /** A token is told to something, which is good only as long as its lease is open. */
  use(token: string): void {
    const lease = this.all.find((one) => one.token === token);
    if (lease?.closes !== 0) this.misused.push(token);
  }
}
