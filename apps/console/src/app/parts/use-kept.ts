import { useNavigate } from "@tanstack/react-router";
import { startTransition, useEffect, useState, useSyncExternalStore } from "react";
import { KeptText } from "./kept-text.ts";
import { useFilters } from "./use-address.ts";

/**
 * A filter that its page can be sent with: what is typed is a part of the address soon, and there again after a reload or a way back. Where
 * the address is changed otherwise, as by a link to the page, the filter follows it. Nothing is kept of a filter without a name.
 */
export function useKept(
  name: string | undefined,
  initial = "",
): readonly [value: string, set: (value: string) => void] {
  const search = useFilters<Record<string, string>>();
  const navigate = useNavigate();
  const given = (name === undefined ? undefined : search[name]) ?? initial;
  const [kept] = useState(() => new KeptText(given));
  const value = useSyncExternalStore(kept.subscribe, kept.value);
  useEffect(() => kept.follow(given), [kept, given]);
  useEffect(() => () => kept.end(), [kept]);
  const write = (next: string): void => {
    // What is typed comes first.
    startTransition(
      () =>
        void navigate({
          to: ".",
          search: (all: object) => {
            const others = Object.entries(all).filter(([key]) => key !== name);
            return Object.fromEntries(next === initial ? others : [...others, [name, next]]);
          },
          replace: true,
          resetScroll: false,
        }),
    );
  };
  return [value, (next) => kept.type(next, name === undefined ? undefined : write)];
}
