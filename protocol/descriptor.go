package protocol

// Descriptor says where a VM's database is: exactly one of its fields is set
// (S2.1). It is trusted, and known to the persistence actor only.
type Descriptor struct {
	SQLiteFile string // path of a local file
	ActorUDS   string // path of an actor's Unix socket
}

// Validate returns a *Error unless exactly one kind of database is named.
func (d Descriptor) Validate() error {
	if (d.SQLiteFile == "") == (d.ActorUDS == "") {
		return Errorf(CodeInvalidArgument, "a VM has exactly one database: sqlite_file or actor_uds")
	}
	return nil
}
