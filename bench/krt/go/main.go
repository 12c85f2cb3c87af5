// Command krt-go does the tasks of the benchmarks with the original, Istio's krt on static collections.
// It reads orders from standard input, one JSON object per line, and answers each with one line.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"istio.io/istio/pkg/kube/krt"
	istiolog "istio.io/istio/pkg/log"
)

type pod struct {
	Namespace, Name, IP, Phase, ServiceAccount string
	Labels                                     map[string]string
}

func (p pod) ResourceName() string { return p.Namespace + "/" + p.Name }

type service struct {
	Namespace, Name string
	Selector        map[string]string
}

func (s service) ResourceName() string                { return s.Namespace + "/" + s.Name }
func (s service) GetNamespace() string                { return s.Namespace }
func (s service) GetLabelSelector() map[string]string { return s.Selector }

func (s service) Equals(other service) bool {
	return s.Namespace == other.Namespace && s.Name == other.Name && maps.Equal(s.Selector, other.Selector)
}

func (p pod) Equals(other pod) bool {
	return p.Namespace == other.Namespace && p.Name == other.Name && p.IP == other.IP &&
		p.Phase == other.Phase && p.ServiceAccount == other.ServiceAccount && maps.Equal(p.Labels, other.Labels)
}

type workload struct {
	Namespace, Name, IP string
	ServiceNames        []string
}

func (w workload) ResourceName() string { return w.Namespace + "/" + w.Name }

func (w workload) Equals(other workload) bool {
	return w.Namespace == other.Namespace && w.Name == other.Name && w.IP == other.IP &&
		slices.Equal(w.ServiceNames, other.ServiceNames)
}

// The shapes and objects are those of data.ts.
type shape struct {
	Pods       int `json:"pods"`
	Services   int `json:"services"`
	Namespaces int `json:"namespaces"`
	Apps       int `json:"apps"`
}

func address(n int) string {
	return fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)
}

func createPods(s shape) []pod {
	pods := make([]pod, s.Pods)
	for i := range pods {
		pods[i] = pod{
			Namespace: fmt.Sprintf("ns-%d", i%s.Namespaces), Name: fmt.Sprintf("pod-%d", i),
			Labels: map[string]string{"app": fmt.Sprintf("app-%d", i%s.Apps)},
			IP:     address(i), Phase: "Running", ServiceAccount: "fake-sa",
		}
	}
	return pods
}

func createServices(s shape) []service {
	services := make([]service, s.Services)
	for i := range services {
		services[i] = service{
			Namespace: fmt.Sprintf("ns-%d", i%s.Namespaces), Name: fmt.Sprintf("service-%d", i),
			Selector: map[string]string{"app": fmt.Sprintf("app-%d", i%s.Apps)},
		}
	}
	return services
}

// Sentinels follow all other writes through the same queues, a service those of services and a pod those of
// pods: when their events have arrived, so have those of all writes before. The workload of the pod `p`
// changes with services only, since nobody writes that pod again.
const sentinel = "sentinel"

type engine struct {
	stop      chan struct{}
	pods      krt.StaticCollection[pod]
	services  krt.StaticCollection[service]
	workloads krt.Collection[workload]
	events    atomic.Int64
	reached   chan workload
	turn      int
}

func create(pods []pod, services []service) *engine {
	e := &engine{stop: make(chan struct{}), reached: make(chan workload, 16)}
	stop := krt.WithStop(e.stop)
	e.pods = krt.NewStaticCollection(nil, pods, stop, krt.WithName("pods"))
	e.services = krt.NewStaticCollection(nil, services, stop, krt.WithName("services"))
	byNamespace := krt.NewNamespaceIndex[service](e.services)
	e.workloads = krt.NewCollection(e.pods, func(ctx krt.HandlerContext, p pod) *workload {
		if p.IP == "" {
			return nil
		}
		selected := krt.Fetch(ctx, e.services, krt.FilterIndex(byNamespace, p.Namespace), krt.FilterSelectsNonEmpty(p.Labels))
		names := make([]string, len(selected))
		for i, s := range selected {
			names[i] = s.Name
		}
		return &workload{Namespace: p.Namespace, Name: p.Name, IP: p.IP, ServiceNames: names}
	}, stop, krt.WithName("workloads"))
	e.workloads.Register(func(event krt.Event[workload]) {
		if latest := event.Latest(); latest.Namespace == sentinel {
			e.reached <- latest
			return
		}
		e.events.Add(1)
	})
	return e
}

// settle waits until everything written so far has reached the handler.
func (e *engine) settle() {
	e.turn++
	turn := fmt.Sprint(e.turn)
	labels := map[string]string{"app": sentinel}
	if e.turn == 1 {
		e.pods.UpdateObject(pod{Namespace: sentinel, Name: "p", IP: "p", Labels: labels})
		e.await(func(w workload) bool { return w.Name == "p" })
	}
	e.services.UpdateObject(service{Namespace: sentinel, Name: turn, Selector: labels})
	e.await(func(w workload) bool { return w.Name == "p" && slices.Contains(w.ServiceNames, turn) })
	e.services.DeleteObject(sentinel + "/" + turn)
	e.pods.UpdateObject(pod{Namespace: sentinel, Name: "q", IP: turn})
	e.await(func(w workload) bool { return w.Name == "q" && w.IP == turn })
}

func (e *engine) await(wanted func(workload) bool) {
	for !wanted(<-e.reached) {
	}
}

// waitForLoad waits for the events of the initial objects.
func (e *engine) waitForLoad(count int) {
	for e.events.Load() < int64(count) {
		time.Sleep(20 * time.Microsecond)
	}
}

func (e *engine) checksum() float64 {
	sum := uint64(0)
	for _, w := range e.workloads.List() {
		if w.Namespace == sentinel {
			continue
		}
		names := slices.Sorted(slices.Values(w.ServiceNames))
		hash := fnv.New32a()
		fmt.Fprintf(hash, "%s/%s/%s/%s", w.Namespace, w.Name, w.IP, strings.Join(names, ","))
		sum = (sum + uint64(hash.Sum32())) % (1 << 48)
	}
	return float64(sum)
}

func taskOf(name string, s shape, pods []pod, services []service, e *engine) func() {
	turn := 0
	switch name {
	case "pods":
		return func() {
			turn++
			for i, p := range pods {
				p.IP = address(turn*len(pods) + i)
				e.pods.UpdateObject(p)
			}
			e.settle()
		}
	case "services":
		return func() {
			turn++
			for i, one := range services {
				one.Selector = map[string]string{"app": fmt.Sprintf("app-%d", (i+turn)%s.Apps)}
				e.services.UpdateObject(one)
			}
			e.settle()
		}
	case "load":
		return func() {
			loaded := create(pods, services)
			loaded.waitForLoad(len(pods))
			close(loaded.stop)
		}
	}
	log.Fatalf("no task %q", name)
	return nil
}

func milliseconds(since time.Time) float64 { return float64(time.Since(since).Nanoseconds()) / 1e6 }

type order struct {
	Do       string  `json:"do"`
	Ms       float64 `json:"ms"`
	SampleMs float64 `json:"sampleMs"`
	Count    int     `json:"count"`
}

func obey(o order, operation func(), e *engine, pods []pod, services []service) float64 {
	switch o.Do {
	case "warm up":
		operation()
		start, count := time.Now(), 0
		for count < 2 || milliseconds(start) < o.Ms {
			operation()
			count++
		}
		return math.Max(1, math.Round(o.SampleMs*float64(count)/milliseconds(start)))
	case "sample":
		runtime.GC()
		start := time.Now()
		for range o.Count {
			operation()
		}
		return milliseconds(start) / float64(o.Count)
	case "sum":
		for _, one := range services {
			e.services.UpdateObject(one)
		}
		for _, one := range pods {
			e.pods.UpdateObject(one)
		}
		e.settle()
		return e.checksum()
	}
	log.Fatalf("no order %q", o.Do)
	return 0
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: krt-go TASK SHAPE")
	}
	istiolog.FindScope("krt").SetOutputLevel(istiolog.NoneLevel)
	var s shape
	if err := json.Unmarshal([]byte(os.Args[2]), &s); err != nil {
		log.Fatal(err)
	}
	pods, services := createPods(s), createServices(s)
	e := create(pods, services)
	e.waitForLoad(len(pods))
	operation := taskOf(os.Args[1], s, pods, services, e)
	input := bufio.NewScanner(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	for input.Scan() {
		var o order
		if err := json.Unmarshal(input.Bytes(), &o); err != nil {
			log.Fatal(err)
		}
		if err := output.Encode(map[string]float64{"value": obey(o, operation, e, pods, services)}); err != nil {
			log.Fatal(err)
		}
	}
}
