import { useNavigate } from "@tanstack/react-router";
import { startTransition, useState } from "react";
import { useFilters } from "./use-address.ts";

/**
 * A filter that its page can be sent with: what is typed is a part of the address, and there again after a reload or a way back.
 * Nothing is kept of a filter without a name.
 */
export function useKept(
  name: string | undefined,
  initial = "",
): readonly [value: string, set: (value: string) => void] {
  const search = useFilters<Record<string, unknown>>();
  const navigate = useNavigate();
  const [value, setValue] = useState(() => {
    const given = name === undefined ? undefined : search[name];
    // Addresses are written by hand, too: a number is a text here.
    return typeof given === "string" || typeof given === "number" ? String(given) : initial;
  });
  const set = (next: string): void => {
    setValue(next);
    if (name === undefined) return;
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
  return [value, set];
}
