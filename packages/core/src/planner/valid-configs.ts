import type { Value } from "@stackwright/cty";
import type { ResourceConfig } from "@stackwright/lang";
import type { LifecycleProvider } from "@stackwright/mux/router";

type Reply = Awaited<ReturnType<LifecycleProvider["validateResource"]>>;

interface Check {
  readonly provider: LifecycleProvider;
  readonly config: Value;
  readonly reply: Promise<Reply>;
}

/**
 * What providers say of the configurations of one run. A provider checks a configuration by itself: it is asked before it is
 * configured as well, so that the answer depends on the configuration alone. Instances with equal ones, of which a resource with `count` may have
 * thousands, are one question; of each resource the latest is remembered. A question that brought anything but a plain yes is
 * asked again, so that each instance has its own answer.
 */
export class ValidConfigs {
  readonly #latest = new Map<ResourceConfig, Check>();

  async ask(
    resource: ResourceConfig,
    provider: LifecycleProvider,
    config: Value,
    ask: () => Promise<Reply>,
  ): Promise<Reply> {
    const latest = this.#latest.get(resource);
    if (latest?.provider === provider && latest.config.rawEquals(config)) {
      const known = await latest.reply.catch(() => undefined);
      return known?.diagnostics.length === 0 ? known : ask();
    }
    const reply = ask();
    this.#latest.set(resource, { provider, config, reply });
    return reply;
  }
}
