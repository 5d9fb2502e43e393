import { keepPreviousData, QueryClient, useInfiniteQuery, useQuery, type QueryKey } from "@tanstack/react-query";
import { useMemo } from "react";
import { unwrapTagged } from "./client";
import { ApiError } from "./errors";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      gcTime: 10 * 60_000,
      refetchOnWindowFocus: false,
      retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status < 500) && !(error instanceof ApiError && error.unavailable),
    },
  },
});

type Answer<T> = { data?: T; error?: unknown; response: Response };
type ResourceOptions = { enabled?: boolean; refetchInterval?: number | false; staleTime?: number; keepPrevious?: boolean; retry?: (count: number, error: Error) => boolean; retryDelay?: number };

/**
 * Reads one resource: `useResource(["models"], (signal) => api.GET("/admin/api/v1/models", { signal }))`.
 * `data` is the body, `etag` its tag for the next write, `error` an ApiError.
 */
export function useResource<T>(key: QueryKey, read: (signal: AbortSignal) => Promise<Answer<T>>, options: ResourceOptions = {}) {
  const { keepPrevious, ...rest } = options;
  const query = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => unwrapTagged(read(signal)),
    placeholderData: keepPrevious ? keepPreviousData : undefined,
    ...rest,
  });
  return { ...query, data: query.data?.value, etag: query.data?.etag ?? null };
}

/** The start of a page of a list: a cursor for keyset paging, or an offset. */
export type PageStart = { cursor?: string; offset?: number };
type PageLike = { next?: string | null; total?: number; offset?: number; entries?: unknown[] };
type PagedOptions<Page> = ResourceOptions & { next?: (page: Page) => PageStart | undefined };

/**
 * Reads a list page by page. The answer must have `entries`; the next page is found by `next` (keyset) or by
 * `offset` and `total`, unless `options.next` says otherwise. `rows` holds all entries read so far, `pages` the answers.
 */
export function usePagedList<Row, Page extends { entries: Row[] }>(key: QueryKey, read: (start: PageStart, signal: AbortSignal) => Promise<Answer<Page>>, options: PagedOptions<Page> = {}) {
  const { keepPrevious, next = nextStart, ...rest } = options;
  const query = useInfiniteQuery({
    queryKey: key,
    initialPageParam: {} as PageStart,
    queryFn: async ({ pageParam, signal }) => (await unwrapTagged(read(pageParam, signal))).value,
    getNextPageParam: (page: Page) => next(page),
    placeholderData: keepPrevious ? keepPreviousData : undefined,
    // A further page keeps the pages before it as they are: comparing them all would take longer with every page.
    structuralSharing: false,
    // Going back to a long list shows what was read: reading it again would be one request per page.
    refetchOnMount: (found) => (found.state.data?.pages.length ?? 0) < 2,
    ...rest,
  });
  const data = query.data;
  const rows = useMemo(() => data?.pages.flatMap((page) => page.entries) ?? [], [data]);
  return {
    ...query,
    pages: data?.pages ?? [],
    rows,
    loadMore: () => {
      if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage();
    },
  };
}

function nextStart(page: PageLike): PageStart | undefined {
  if (page.next) return { cursor: page.next };
  if (page.total === undefined || page.offset === undefined || !page.entries?.length) return undefined;
  const after = page.offset + page.entries.length;
  return after < page.total ? { offset: after } : undefined;
}
