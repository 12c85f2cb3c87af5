/** A request of a user, as it becomes known. */
export interface SimRequest {
  readonly id: string;
  readonly kind: string;
  readonly actor: string;
  /** The run that it is for, or that it makes. */
  readonly run: string;
  /** The stack that it is for, where it names one for good. */
  readonly stack?: string;
  /** The plan set that it is for, or that it makes. */
  readonly set?: string;
  /** Of the plan, or of the plans of a set. */
  readonly planDigest?: string;
  readonly autoApply?: boolean | undefined;
  /** It is answered although there was nothing to do. */
  readonly mayBeIdle: boolean;
  /** Its server died, so that it is never answered. */
  mayBeLost: boolean;
  /** Batches that were written for it. */
  commits: number;
  /** `ok`, the code of a refusal, or `unknown`; absent before the answer. */
  outcome: string | undefined;
}
