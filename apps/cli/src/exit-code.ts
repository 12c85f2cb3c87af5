/** How the process ends. */
export const EXIT = {
  ok: 0,
  failed: 1,
  /** `plan` found changes, with the option to report them by the exit code. */
  changes: 2,
  /** No command was named, as shells say that there is none. */
  noCommand: 127,
  /** Ended by Ctrl-C, as shells expect it. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
