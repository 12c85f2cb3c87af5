import type { Clock } from "@stackwright/base/clock";
import type { Diagnostic } from "@stackwright/lang";
import {
  hasProviderErrors,
  type LifecycleContext,
  type OpenReply,
  type ProviderDiagnostic,
} from "@stackwright/mux/router";
import type { RunEventHandler } from "../events.ts";
import type { ProviderInstance } from "../providers/provider-instances.ts";

/** What an open ephemeral resource is made of. */
interface EphemeralSessionOptions {
  readonly address: string;
  readonly type: string;
  readonly use: ProviderInstance;
  readonly reply: Pick<OpenReply, "privateBytes" | "renewAtMs">;
  readonly clock: Clock;
  readonly onEvent: RunEventHandler;
  readonly report: (diagnostics: readonly Diagnostic[]) => void;
  readonly context: LifecycleContext;
}

/**
 * Shortest time between two renewals, regardless of the provider's request: no provider is called again without a
 * pause.
 */
const SHORTEST_MS = 1_000;
/** Longest time that a timer can be set to. */
const LONGEST_MS = 2_147_483_647;
/** How long a close may take once the run was canceled, in milliseconds. */
const CLOSE_GRACE_MS = 5_000;

/**
 * An open ephemeral resource: renewed whenever its provider wants that, until it is closed.
 *
 * A failed renewal is an error of the run, and the last one: the opened resource may have expired. It is closed all the
 * same. Closing waits for a renewal in progress, happens once, and never rejects; it continues for a limited time after
 * the run was canceled.
 */
export class EphemeralSession {
  readonly #it: EphemeralSessionOptions;
  #privateBytes: Uint8Array;
  #timer: Disposable | undefined;
  #renewing: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: EphemeralSessionOptions) {
    this.#it = options;
    this.#privateBytes = options.reply.privateBytes ?? new Uint8Array();
    this.#arm(options.reply.renewAtMs, 0);
  }

  async close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #arm(renewAtMs: number | undefined, leastMs: number): void {
    if (renewAtMs === undefined || this.#closed !== undefined) return;
    const { clock } = this.#it;
    const delayMs = Math.min(Math.max(renewAtMs - clock.wallMs(), leastMs), LONGEST_MS);
    this.#timer = clock.after(delayMs, () => {
      this.#timer = undefined;
      if (clock.wallMs() < renewAtMs) this.#arm(renewAtMs, 0);
      else this.#renewing = this.#renew();
    });
  }

  async #renew(): Promise<void> {
    const { use, type, context } = this.#it;
    const reply = await this.#step("renew", async () =>
      use.provider.renewEphemeral({ type, privateBytes: this.#privateBytes }, context),
    );
    this.#renewing = undefined;
    if (reply === undefined) return;
    this.#privateBytes = reply.privateBytes ?? this.#privateBytes;
    this.#arm(reply.renewAtMs, SHORTEST_MS);
  }

  async #close(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    await this.#renewing;
    const { use, type, context, clock } = this.#it;
    const { signal, sessionId } = context;
    const late = new AbortController();
    let grace: Disposable | undefined;
    const onAbort = (): void => {
      grace ??= clock.after(CLOSE_GRACE_MS, () => late.abort(new Error("the run was canceled")));
    };
    if (signal?.aborted === true) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      await this.#step("close", async () =>
        use.provider.closeEphemeral(
          { type, privateBytes: this.#privateBytes },
          { signal: late.signal, ...(sessionId !== undefined && { sessionId }) },
        ),
      );
    } finally {
      grace?.[Symbol.dispose]();
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Makes a call and emits its events. Undefined after an error, which is reported. */
  async #step<R extends { readonly diagnostics: readonly ProviderDiagnostic[] }>(
    step: "renew" | "close",
    call: () => Promise<R>,
  ): Promise<R | undefined> {
    const { address, onEvent, clock, report } = this.#it;
    const begun = clock.monotonicMs();
    const notify = (status: "start" | "done" | "failed"): void =>
      onEvent({ type: "ephemeral", address, step, status, elapsedMs: clock.monotonicMs() - begun });
    notify("start");
    try {
      const reply = await call();
      const failed = hasProviderErrors(reply.diagnostics);
      report(
        reply.diagnostics.map(({ severity, summary, detail }) => ({
          severity,
          code: "LANG_PROVIDER",
          summary,
          detail,
          address,
        })),
      );
      notify(failed ? "failed" : "done");
      return failed ? undefined : reply;
    } catch (error) {
      const what = step === "renew" ? "renewed" : "closed";
      report([
        {
          severity: "error",
          code: "ENGINE_EPHEMERAL",
          summary: `Ephemeral resource could not be ${what}`,
          detail: `${address}: ${error instanceof Error ? error.message : String(error)}`,
          address,
        },
      ]);
      notify("failed");
      return undefined;
    }
  }
}
