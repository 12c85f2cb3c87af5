/** What a provider logs, without the secrets of the runs that use it. */
export interface ProviderLog {
  /** Name of the provider. */
  readonly provider: string;
  readonly severity: "debug" | "info" | "warning" | "error";
  readonly message: string;
  /** The resource that it is about, as its protocol names it. */
  readonly urn?: string;
}
