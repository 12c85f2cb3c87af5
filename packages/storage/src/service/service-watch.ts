import type { CallOptions, Watch, WatchEvent, WatchOptions } from "../types.ts";
import type { ListFilterInput } from "./inputs.ts";
import { checkFilterInput } from "./read-resource.ts";
import type { ServiceParts } from "./service-parts.ts";

/** A watch whose resources all have the group version that was asked for. */
export type ServiceWatch = Watch;

/** Watches what is stored in, or can be converted to, the filter's group version. */
export async function watchResources(
  parts: ServiceParts,
  input: ListFilterInput,
  options: WatchOptions,
): Promise<ServiceWatch> {
  const { type, tenancy, namePrefix } = checkFilterInput(parts, input);
  const watch = await parts.storage.watchList(type, tenancy, namePrefix, options);

  const translate = (event: WatchEvent): WatchEvent | undefined => {
    if (!("resource" in event)) return event;
    const resource = parts.types.convert(event.resource, type.groupVersion);
    return resource === undefined ? undefined : { ...event, resource };
  };
  const next = async (call?: CallOptions): Promise<WatchEvent> => {
    for (;;) {
      const event = translate(await watch.next(call));
      if (event !== undefined) return event;
    }
  };
  return {
    next,
    close: () => watch.close(),
    [Symbol.dispose]: () => watch.close(),
    async *[Symbol.asyncIterator]() {
      for await (const event of watch) {
        const translated = translate(event);
        if (translated !== undefined) yield translated;
      }
    },
  };
}
