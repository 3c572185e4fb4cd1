# A dumbbell for ns-2, built from a file of settings: see settings.py, which writes it.
#
#   ns dumbbell.tcl SETTINGS TRACE WINDOWS READ_BACK
#
# One setting per line, words between spaces, nothing of it evaluated. The trace is compressed as it is written and holds what
# trace.py reads and nothing else: one line per packet at its sender, at both ends of the bottleneck's buffer, where it is lost
# and at its receiver; and each change of TCP's congestion windows. Those of SCTP have a file of their own: between its lines
# ns-2's agent writes bytes of memory that it never set, other ones each time, which grep leaves out.

proc fail {text} {
	puts stderr "dumbbell: $text"
	exit 1
}

proc lines {path} {
	set file [open $path r]
	set text [read $file]
	close $file
	return [split [string trim $text] "\n"]
}

# read_settings PATH: into the arrays one, link, and the lists flows and defaults.
proc read_settings {path} {
	global one link flows defaults
	set flows {}
	set defaults {}
	foreach line [lines $path] {
		set words [split $line " "]
		set rest [lrange $words 1 end]
		switch -- [lindex $words 0] {
			duration - sources - destinations - seed {
				set one([lindex $words 0]) [lindex $rest 0]
			}
			link { set link([lindex $rest 0],[lindex $rest 1]) [lrange $rest 2 end] }
			flow { lappend flows $rest }
			set { lappend defaults $rest }
			default { fail "unknown setting: $line" }
		}
	}
}

# connect FROM TO NAME WAY: one direction of a link; its buffer holds what waits and what is being sent.
proc connect_nodes {from to name way} {
	global ns link
	lassign $link($name,$way) rate_bps owd_s queue_pkts loss_frac loss_seed
	$ns simplex-link $from $to $rate_bps $owd_s DropTail
	$ns queue-limit $from $to $queue_pkts
	if {$loss_frac > 0} {
		set random [new RNG]
		$random seed $loss_seed
		set uniform [new RandomVariable/Uniform]
		$uniform use-rng $random
		set model [new ErrorModel]
		$model unit pkt
		$model set rate_ $loss_frac
		$model ranvar $uniform
		behind_buffer $from $to $model
		$model drop-target [tracer EDrop $from $to]
	}
}

# behind_buffer FROM TO CONNECTOR: let what leaves the link's buffer pass here first.
proc behind_buffer {from to connector} {
	global ns
	set delay [[$ns link $from $to] link]
	$connector target [$delay target]
	$delay target $connector
}

proc tracer {type from to} {
	global ns trace
	set made [$ns create-trace $type $trace $from $to]
	$made target [$ns set nullAgent_]
	return $made
}

# watch FROM TO WHAT...: write lines of these events of a link: enters, leaves, arrives; drops always.
proc watch {from to args} {
	global ns trace
	set queue [[$ns link $from $to] queue]
	foreach what $args {
		switch -- $what {
			enters { [$ns link $from $to] add-to-head [$ns create-trace Enque $trace $from $to] }
			leaves {
				set made [$ns create-trace Deque $trace $from $to]
				$made target [$queue target]
				$queue target $made
			}
			arrives {
				set made [$ns create-trace Recv $trace $from $to]
				set ttl [[$ns link $from $to] set ttl_]
				$made target [$ttl target]
				$ttl target $made
			}
		}
	}
	$queue drop-target [tracer Drop $from $to]
}

proc build_network {} {
	global ns one source destination r1 r2
	set r1 [$ns node]
	set r2 [$ns node]
	connect_nodes $r1 $r2 bottleneck forward
	connect_nodes $r2 $r1 bottleneck reverse
	watch $r1 $r2 enters leaves
	watch $r2 $r1
	for {set i 0} {$i < $one(sources)} {incr i} {
		set source($i) [$ns node]
		connect_nodes $source($i) $r1 source_access forward
		connect_nodes $r1 $source($i) source_access reverse
		watch $source($i) $r1 enters
		watch $r1 $source($i) arrives
	}
	for {set i 0} {$i < $one(destinations)} {incr i} {
		set destination($i) [$ns node]
		connect_nodes $r2 $destination($i) destination_access forward
		connect_nodes $destination($i) $r2 destination_access reverse
		watch $r2 $destination($i) arrives
		watch $destination($i) $r2 enters
	}
}

# drop_listed: for each flow with a list one model that counts the flow's packets, behind the buffer and before the loss model.
proc drop_listed {} {
	global ns flows r1 r2
	set module ""
	foreach flow $flows {
		set listed [lrange $flow 10 end]
		if {[llength $listed] == 0} {
			continue
		}
		if {$module eq ""} {
			set module [new ErrorModule Fid]
			behind_buffer $r1 $r2 $module
			$module default pass
		}
		set model [new ErrorModel/List]
		$model droplist $listed
		$module insert $model
		$module bind $model [lindex $flow 0]
	}
	if {$module ne ""} {
		$module drop-target [tracer EDrop $r1 $r2]
		foreach model [$module errormodels] {
			$model drop-target [tracer EDrop $r1 $r2]
		}
	}
}

# tell_read_back FID SIDE AGENT PARENT: what an agent's variables are, of those that were set.
proc tell_read_back {fid side agent parent} {
	global defaults read_back
	foreach setting $defaults {
		lassign $setting class name value
		if {$class eq $parent} {
			puts $read_back "$fid $side $class $name [$agent set $name]"
		}
	}
}

proc start_flow {flow} {
	global ns source destination trace windows read_back
	lassign $flow fid protocol from to start_s stop_s payload_bytes packet_bytes window rate_bps
	switch -- $protocol {
		tcp {
			set sender [new Agent/TCP/Sack1]
			set receiver [new Agent/TCPSink/Sack1]
			$sender set packetSize_ $payload_bytes
			$sender set window_ $window
			set parents {Agent/TCP Agent/TCPSink}
		}
		sctp {
			set sender [new Agent/SCTP]
			set receiver [new Agent/SCTP]
			foreach agent [list $sender $receiver] {
				$agent set dataChunkSize_ [expr {$payload_bytes + 16}]
				$agent set initialRwnd_ $window
				$agent set initialSsthresh_ $window
			}
			set parents {Agent/SCTP Agent/SCTP}
		}
		udp {
			set sender [new Agent/UDP]
			set receiver [new Agent/Null]
			$sender set packetSize_ $packet_bytes
			set parents {Agent/UDP Agent/Null}
		}
		default { fail "unknown protocol: $protocol" }
	}
	$ns attach-agent $source($from) $sender
	$ns attach-agent $destination($to) $receiver
	$sender set fid_ $fid
	$receiver set fid_ $fid
	$ns connect $sender $receiver
	tell_read_back $fid sender $sender [lindex $parents 0]
	tell_read_back $fid receiver $receiver [lindex $parents 1]
	puts $trace "F $fid [$source($from) id] [$sender set agent_port_] [$destination($to) id] [$receiver set agent_port_]"
	if {$protocol eq "udp"} {
		set application [new Application/Traffic/CBR]
		$application set packetSize_ $packet_bytes
		$application set rate_ $rate_bps
		$application set random_ 0
	} else {
		set application [new Application/FTP]
		if {$protocol eq "tcp"} {
			$sender attach $trace
			$sender trace ssthresh_
		} else {
			$sender attach $windows
		}
		$sender trace cwnd_
	}
	$application attach-agent $sender
	$ns at $start_s "$application start"
	$ns at $stop_s "$application stop"
}

proc finish {} {
	global trace windows read_back
	puts $trace "E"
	puts $windows "\ntime: end"
	foreach file [list $trace $windows] {
		if {[catch {close $file} why]} {
			fail "the trace was not written: $why"
		}
	}
	close $read_back
	exit 0
}

if {[llength $argv] != 4} {
	fail "usage: ns dumbbell.tcl SETTINGS TRACE WINDOWS READ_BACK"
}
lassign $argv settings_file trace_file windows_file read_back_file
read_settings $settings_file
Trace set show_sctphdr_ 1
ns-random $one(seed)
set ns [new Simulator]
set trace [open [list |gzip -n -1 > $trace_file] w]
set windows [open [list |grep -ao {time: .*} | gzip -n -1 > $windows_file] w]
fconfigure $windows -translation binary
set read_back [open $read_back_file w]
foreach setting $defaults {
	lassign $setting class name value
	$class set $name $value
}
build_network
drop_listed
foreach flow $flows {
	start_flow $flow
}
$ns at $one(duration) finish
$ns run
