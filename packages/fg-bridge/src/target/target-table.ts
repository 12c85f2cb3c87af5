import { type Clock, systemClock } from "@stackwright/base/clock";
import type { FunctionUrn } from "@stackwright/provider-source";
import type { AuditSink } from "../audit.ts";
import { FgBridgeError, type FgBridgeErrorCode } from "../errors.ts";
import { AddressGuard, type AddressGuardOptions } from "./address-guard.ts";
import { requireFunctionUrn } from "./function-urn.ts";
import { type FunctionGraphEndpoint, FunctionGraphTarget } from "./functiongraph-target.ts";
import { FunctionHttpClient, type TlsOptions } from "./http-exchange.ts";
import type { FunctionTarget } from "./target.ts";
import { UrlTarget, type UrlTargetOptions } from "./url-target.ts";

/** In whose name a function is called. */
export interface TargetScope {
  /** Projects whose functions may be called. */
  readonly projects: readonly string[];
  /** The region whose functions may be called. @default any in the table */
  readonly region?: string;
}

export interface TargetTableOptions {
  /** Invoke APIs by region. */
  readonly regions?: Readonly<Record<string, FunctionGraphEndpoint>>;
  /** Self-hosted functions by their whole URN; they win over regions. */
  readonly functions?: Readonly<Record<string, Omit<UrlTargetOptions, "onAudit">>>;
  readonly guard?: Omit<AddressGuardOptions, "onAudit">;
  readonly tls?: TlsOptions;
  readonly onAudit?: AuditSink;
  readonly clock?: Clock;
}

/**
 * The operator's table: which function is called where. A URN only selects a row and fills encoded segments of a
 * path; no address ever comes from a user's text.
 */
export class FunctionTargetTable implements AsyncDisposable {
  readonly #options: TargetTableOptions;
  readonly #onAudit: AuditSink;
  readonly #clock: Clock;
  readonly #functions: ReadonlyMap<string, Omit<UrlTargetOptions, "onAudit">>;
  readonly #regions: ReadonlyMap<string, FunctionGraphEndpoint>;
  /** The connections of all targets; also for sources of asynchronous results. */
  readonly client: FunctionHttpClient;

  /** @throws FgBridgeError `FG_OPTIONS_INVALID`, `FG_URN_INVALID` */
  constructor(options: TargetTableOptions = {}) {
    this.#options = options;
    this.#onAudit = options.onAudit ?? (() => undefined);
    this.#clock = options.clock ?? systemClock;
    this.client = new FunctionHttpClient({
      guard: new AddressGuard({ ...options.guard, onAudit: this.#onAudit }),
      clock: this.#clock,
      ...(options.tls === undefined ? {} : { tls: options.tls }),
    });
    this.#functions = new Map(Object.entries(options.functions ?? {}));
    this.#regions = new Map(Object.entries(options.regions ?? {}));
    for (const [urn, row] of this.#functions) {
      requireFunctionUrn(urn);
      void new UrlTarget(this.client, row);
    }
  }

  /**
   * The target of a function. The scope is checked here, at each call, in addition to the check at the registration of
   * the function.
   *
   * @throws FgBridgeError `FG_URN_INVALID`, `FG_FORBIDDEN` (project or region of another), `FG_TARGET_UNKNOWN`;
   * each of them is audited
   */
  resolve(urnText: string, scope: TargetScope): FunctionTarget {
    let urn: FunctionUrn;
    try {
      urn = requireFunctionUrn(urnText);
    } catch (error) {
      throw this.#refuse("FG_URN_INVALID", urnText, scope, (error as Error).message);
    }
    if (!scope.projects.includes(urn.project)) {
      const reason = `the function belongs to project ${urn.project}, which the caller is not allowed to use`;
      throw this.#refuse("FG_FORBIDDEN", urnText, scope, reason);
    }
    if (scope.region !== undefined && scope.region !== urn.region) {
      const reason = `the function lies in region ${urn.region}, not in ${scope.region}`;
      throw this.#refuse("FG_FORBIDDEN", urnText, scope, reason);
    }
    const row = this.#functions.get(urn.text);
    if (row !== undefined) return new UrlTarget(this.client, { ...row, onAudit: this.#onAudit });
    const region = this.#regions.get(urn.region);
    if (region !== undefined) return new FunctionGraphTarget(this.client, urn, region, this.#clock);
    const reason = `there is no row for ${urn.text} or its region in the table of targets`;
    throw this.#refuse("FG_TARGET_UNKNOWN", urnText, scope, reason);
  }

  async close(): Promise<void> {
    await this.client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The options it was made with, for diagnosis. */
  get regions(): readonly string[] {
    return Object.keys(this.#options.regions ?? {});
  }

  #refuse(code: FgBridgeErrorCode, urn: string, scope: TargetScope, reason: string): FgBridgeError {
    const subject = urn.slice(0, 300);
    this.#onAudit({
      kind: "target-refused",
      code,
      reason,
      subject,
      caller: scope.projects.join(","),
    });
    return new FgBridgeError(code, reason, { target: subject });
  }
}
