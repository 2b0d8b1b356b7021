package route

import "testing"

func TestCredit_Rule6_StopsReadingPastItsBound(t *testing.T) {
	c := newCredit()
	big, ok := c.acquire(creditBytes * 3) // one message passes whatever its size
	if !ok {
		t.Fatal("refused")
	}
	got := make(chan Grant)
	go func() {
		g, _ := c.acquire(1)
		got <- g
	}()
	select {
	case <-got:
		t.Error("acquired past the bound")
	default:
	}
	big.Release()
	(<-got).Release()
	if c.taken != 0 {
		t.Errorf("%d bytes are taken after everything was released", c.taken)
	}
	held, _ := c.acquire(creditBytes)
	ended := make(chan bool)
	go func() {
		_, ok := c.acquire(1)
		ended <- ok
	}()
	c.close()
	if <-ended {
		t.Error("acquired from a closed credit")
	}
	held.Release()
}
