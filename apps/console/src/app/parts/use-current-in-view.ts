import { useLocation } from "@tanstack/react-router";
import { type RefObject, useEffect, useRef } from "react";

/** Brings the link of the present page into view where a bar of links is wider than the screen. */
export function useCurrentInView(): RefObject<HTMLElement | null> {
  const bar = useRef<HTMLElement>(null);
  const path = useLocation({ select: ({ pathname }) => pathname });
  useEffect(() => {
    const { current } = bar;
    if (current === null) return undefined;
    const show = (): void => {
      const link = current.querySelector<HTMLElement>("a.active");
      if (link === null) return;
      // Only the bar: the page stays where it is.
      const end = link.offsetLeft + link.offsetWidth - current.offsetLeft;
      current.scrollLeft = Math.max(0, end - current.clientWidth + 16);
    };
    // At once, and again where the screen is turned or the window made narrower.
    const observer = new ResizeObserver(show);
    observer.observe(current);
    return () => observer.disconnect();
  }, [path]);
  return bar;
}
