// Command forward accepts connections on a listening socket that it was handed and joins each to an
// address that it dials itself.
//
// A socket keeps the network namespace it was created in. The listener is made on the host's
// loopback and inherited; this process runs inside the cluster's namespace, so what it dials is there.
package main

import (
	"flag"
	"io"
	"log"
	"net"
	"os"
	"time"
)

func main() {
	descriptor := flag.Uint("fd", 3, "the inherited listening socket's file descriptor")
	target := flag.String("to", "127.0.0.1:6443", "the address to dial for each connection")
	flag.Parse()

	listener, err := net.FileListener(os.NewFile(uintptr(*descriptor), "listener"))
	if err != nil {
		log.Fatalf("file descriptor %d is not a listening socket: %v", *descriptor, err)
	}
	for {
		outside, err := listener.Accept()
		if err != nil {
			log.Printf("accept: %v", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go join(outside.(*net.TCPConn), *target)
	}
}

// join copies both ways until both sides have said all they have to say.
func join(outside *net.TCPConn, target string) {
	defer outside.Close()
	dialled, err := net.DialTimeout("tcp", target, 5*time.Second)
	if err != nil {
		log.Printf("dial %s: %v", target, err)
		return
	}
	inside := dialled.(*net.TCPConn)
	defer inside.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		copyHalf(inside, outside)
	}()
	copyHalf(outside, inside)
	<-done
}

// copyHalf copies one direction; a broken write ends the reading side too, so neither half is left hanging.
func copyHalf(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		_ = to.Close()
		_ = from.Close()
		return
	}
	_ = to.CloseWrite()
}
