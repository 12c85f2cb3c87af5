/** What the doctor looks for, and what is to be done about it. */
export const FINDINGS = Object.freeze({
  approval_waits: {
    severity: "warning",
    advice: "Approve or discard the plan: stackwright runs approve, stackwright runs discard.",
  },
  cancel_waits: {
    severity: "error",
    advice: "Cancel it once more with --force, which ends its executor.",
  },
  step_long: {
    severity: "warning",
    advice: "Follow its log: stackwright runs logs. Cancel it if its provider hangs.",
  },
  step_silent: {
    severity: "warning",
    advice:
      "Follow its log: stackwright runs logs. If its provider hangs, cancel the run; with --force where that does not end it.",
  },
  step_unclaimed: {
    severity: "error",
    advice:
      "Start a worker for its pool, or give those there more capacity. A step with many attempts ends each worker: see its log.",
  },
  worker_away: {
    severity: "error",
    advice:
      "Start a server or read the logs of those there: one relieves a dead worker after the time to live of its lease.",
  },
  worker_refused: {
    severity: "error",
    advice: "Install the release of the server where that worker is, and start it again.",
  },
  queue_locked: {
    severity: "warning",
    advice: "Ask who locked the stack, or unlock it with --force.",
  },
  queue_frozen: {
    severity: "warning",
    advice: "End the freeze, or let the run apply with an override of it.",
  },
  queue_without_turn: {
    severity: "error",
    advice: "Read the logs of the servers: one of them repairs queues every ten seconds.",
  },
  apply_interrupted: {
    severity: "error",
    advice:
      "Request a run of the stack: planning it resolves what the interrupted apply left open.",
  },
  recovery_blocked: {
    severity: "error",
    advice:
      "Release the version of the provider or publish it again: the recovery continues by itself. Or cancel the run, which leaves its operations open until the next run of the stack is planned.",
  },
  provider_quarantined: {
    severity: "warning",
    advice:
      "Require another version of the provider, update the lock file and apply the stack: runs that would start this version are refused.",
  },
  lock_held: {
    severity: "warning",
    advice: "Ask who locked the stack, or unlock it with --force.",
  },
  schedule_failed: {
    severity: "warning",
    advice: "Resolve the problem, or pause the schedule.",
  },
  schedule_overdue: {
    severity: "error",
    advice: "Read the logs of the servers: one of them looks for what is due every ten seconds.",
  },
  drift_failed: {
    severity: "warning",
    advice: "Read the log of the check: stackwright drift show.",
  },
  drift_overdue: {
    severity: "warning",
    advice:
      "Checks wait for those before them: make them rarer, or give the workers more capacity.",
  },
  notification_waits: {
    severity: "warning",
    advice: "Test the destination: stackwright notifications test.",
  },
  notification_dead: {
    severity: "warning",
    advice:
      "Repair the destination, then send them again: stackwright notifications deliveries, stackwright notifications redeliver.",
  },
  audit_webhook_waits: {
    severity: "warning",
    advice:
      "Test the webhook: stackwright server audit-webhooks test. Entries wait as long as the audit trail keeps them.",
  },
  repository_failed: {
    severity: "warning",
    advice: "See its tasks: stackwright vcs tasks. It is tried again by itself.",
  },
  token_expires: {
    severity: "warning",
    advice: "Make another token and give it to its user before this one ends.",
  },
  key_unavailable: {
    severity: "error",
    advice: "Start the server with the former key as well, by --former-key-file or its variable.",
  },
  key_former: {
    severity: "warning",
    advice: "Encrypt stored secrets with the present key: stackwright admin rotate-keys.",
  },
  identity_key_unavailable: {
    severity: "error",
    advice: "Give the server the key that its stored secrets are encrypted with.",
  },
  record_damaged: {
    severity: "error",
    advice: "Restore the store from a backup, or drop the record: stackwright admin damaged.",
  },
  store_slow: {
    severity: "warning",
    advice: "Check the load of the store and the network to it.",
  },
  clock_skewed: {
    severity: "warning",
    advice: "Synchronise the clocks of the servers and of their store, such as by NTP.",
  },
  clock_far_off: {
    severity: "error",
    advice:
      "Synchronise the clocks of the servers and of their store: signatures and tokens are wrong meanwhile, and this server leaves schedules and ends of runs to others. If all servers say so, it is the clock of PostgreSQL that is wrong, and nothing is due anywhere.",
  },
  clock_unknown: {
    severity: "warning",
    advice:
      "Wait a minute after a start. If it stays, look for failures of the store in the log: until clocks are compared, this server leaves schedules and ends of runs to others.",
  },
  clock_disputed: {
    severity: "error",
    advice:
      "Synchronise the clocks of the servers: meanwhile schedules and ends of runs go by the clock that is the furthest behind.",
  },
  certificate_ends: {
    severity: "warning",
    advice: "Put a new certificate into the files of the server: it takes it without a restart.",
  },
  certificate_ended: {
    severity: "error",
    advice: "Put a new certificate into the files of the server: it takes it without a restart.",
  },
  disk_full: {
    severity: "error",
    advice: "Free space, or move the directory to a larger disk.",
  },
} as const satisfies Readonly<Record<string, FindingFacts>>);

interface FindingFacts {
  readonly severity: "error" | "warning";
  /** What to do. */
  readonly advice: string;
}

type FindingCode = keyof typeof FINDINGS;

/** Where something is, and since when. */
interface Found {
  readonly project?: string;
  /** Name of the stack. */
  readonly stack?: string;
  readonly run?: string;
  readonly sinceMs?: number;
}

/** Something that is stuck or will be, and what to do. */
export interface Finding extends Found, FindingFacts {
  readonly code: FindingCode;
  /** What it is, with why where that is known. */
  readonly detail: string;
}

export function finding(code: FindingCode, detail: string, found: Found = {}): Finding {
  return { code, ...FINDINGS[code], detail, ...found };
}
